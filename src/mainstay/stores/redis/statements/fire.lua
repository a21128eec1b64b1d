-- Fires schedules. ARGV: now, the version of the rules of types and queues that the drafts follow (enqueue.lua), the caller's time, how many
-- schedules; for each `WIDTH` values: name, the rule that must be there, the state that must be there ("": none), the state from now on ("": it
-- stays), when it is due, a job to be cancelled or "", who asked for it or "", how many drafts; then all drafts (parts/draft.lua).
-- Returns "done", per schedule a verdict, its rule and its state, then what became of the drafts of those that were fired; or as enqueue.lua
-- does, with nothing written.
-- uses: base batch record admit notify draft audit cancel -- rarely: lane rules examine parents depth ruled
local WIDTH, FIRST = 8, 5
local count = tonumber(ARGV[4])
local drafts = FIRST + count * WIDTH
local version, full = call("GET", P .. "ruled"), nil
if version then
    if version ~= ARGV[2] and flow().concerned(drafts) then
        return flow().rules_now(version)
    end
    full = call("EXISTS", P .. "depth") == 1 and flow().refused_by_depth or nil
end
local now, asked_at = instant(ARGV[1]), tonumber(ARGV[3])
local reply, list, fired, next_draft = { "done" }, {}, {}, drafts
for at = FIRST, drafts - 1, WIDTH do
    local name, value, was, state, due = unpack(ARGV, at, at + 4)
    local rule, tick = call("HGET", P .. "rule:schedule", name), call("HGET", P .. "rule:tick", name)
    local verdict = tonumber(due) > now and "early" or "fired"
    if rule ~= value or (state ~= "" and (tick or "") ~= was) then
        verdict = "changed"
    end
    local last = next_draft + tonumber(ARGV[at + 7]) * STRIDE - 1
    if verdict == "fired" then
        fired[#fired + 1] = { at, #list / STRIDE + 1 }
        for n = next_draft, last do
            list[#list + 1] = ARGV[n]
        end
    end
    next_draft = last + 1
    for _, each in ipairs({ verdict, rule, tick }) do
        reply[#reply + 1] = each
    end
end
local results, refusal = accept(list, 1, now, false, full)
if refusal then
    return type(refusal[1]) == "string" and refusal or { "taken", unpack(refusal) }
end
local stopping = false
for _, each in ipairs(fired) do
    local at, first = unpack(each)
    local name, state, cancelled, actor = ARGV[at], ARGV[at + 3], ARGV[at + 5], ARGV[at + 6]
    local last = first + tonumber(ARGV[at + 7]) - 1
    if state ~= "" then
        if last >= first and results[last] ~= 1 then -- another job has the key of the draft: that is the last one
            state = string.gsub(state, list[(last - 1) * STRIDE + 1], results[last])
        end
        call("HSET", P .. "rule:tick", name, state)
    end
    local r = cancelled ~= "" and read_one(cancelled)
    local result = r and cancel(r, cancelled, asked_at, "schedule " .. name)
    if result and result ~= "ended" then
        stopping = stopping or result == "cancelling"
        add_action(cancelled, cjson.encode({ asked_at, "schedule " .. name, "cancel", cancelled, {} }))
    end
    if actor ~= "" then
        for n = first, last do
            local id = results[n] == 1 and list[(n - 1) * STRIDE + 1] or results[n]
            add_action(id, cjson.encode({ asked_at, actor, "run", id, { schedule = name } }))
        end
    end
end
if made then
    made.settle(now, #results)
end
if #results > 0 then
    notify("jobs")
end
if stopping then
    notify("cancel")
end
for n = 1, #results do
    reply[#reply + 1] = results[n]
end
return reply
