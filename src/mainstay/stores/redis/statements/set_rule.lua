-- Sets or removes a rule. ARGV: now, kind, name, the rule that must be there ("": none, "*": any), the rule ("": remove it), and the
-- entry of the audit trail or "". Returns "changed" where another rule is there; otherwise the rule before or false, and 1 while
-- jobs to which it matters are left: `admit` goes on with them.
-- uses: base batch record admit notify audit -- rarely: lane rules examine walk
allow_oom()
local now, kind, name, text = instant(ARGV[1]), ARGV[2], ARGV[3], ARGV[5]
local key = P .. "rule:" .. kind
local before = call("HGET", key, name)
if ARGV[4] ~= "*" and ARGV[4] ~= (before or "") then
    return "changed"
end
local about = ({ triage = true, watch = true, trouble = true, webhook = true, webhook_secret = true, -- dead jobs, alerts, webhooks
    webhook_incoming = true, webhook_incoming_secret = true, subscription = true, token = true, token_hash = true, session = true })[kind]
if kind ~= "schedule" and not about then -- which hold no job back
    call("SET", P .. "flow", 1)
end
if text == "" then
    call("HDEL", key, name)
else
    call("HSET", key, name, text)
end
if ARGV[6] ~= "" then
    add_action("", ARGV[6])
end
if kind == "schedule" then
    call("INCR", P .. "schedules")
    if text == "" then
        call("HDEL", P .. "rule:tick", name)
    end
    return { before, 0 }
end
if about then
    return { before, 0 }
end

if kind == "type" or kind == "queue" then
    call("INCR", P .. "ruled")
end
if kind == "pause" and text == "" then
    flow().touch("|paused " .. name)
elseif kind == "pause" then
    call("SREM", P .. "woken", "|paused " .. name)
    call("HSET", P .. "walks", "pause", "")
elseif kind == "limit" or kind == "queue" then
    call("HSET", P .. "walks", "limit\n" .. (kind == "queue" and "queue:" or "") .. name, "")
end
if kind == "queue" then -- begin or end the count of the jobs that wait in it
    local most = flow().rule("queue", name).max_depth
    if not most or most == cjson.null then
        call("HDEL", P .. "depth", name)
        call("HDEL", P .. "counting", name)
    elseif call("HSETNX", P .. "depth", name, 0) == 1 then
        call("HSET", P .. "counting", name, "")
    end
end
local _, _, more = flow().go_on(now, 500, true)
notify("jobs")
return { before, more }
