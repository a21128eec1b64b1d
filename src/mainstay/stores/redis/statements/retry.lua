-- Queues ended or waiting jobs now, with fresh attempts; the token stays: it only grows. A key that was let go is taken
-- again, unless another job has it. ARGV: the instant to judge by, now, actor, ids. Answers per id what became of it.
-- uses: base batch record place notify names audit
allow_oom()
local ord, now, actor, answers = instant(ARGV[1]), tonumber(ARGV[2]), ARGV[3], {}
local FROM = { d = true, x = true, v = true, s = true }

local function again(r, id)
    local state = r[STATE]
    local free = r[LOCK] and not r[HELD] and (not r[UNTIL] or r[UNTIL] == 0) and state ~= "s"
    if free and call("HEXISTS", P .. "lock", r[LOCK]) == 1 then
        return "duplicate"
    end
    leave(r, id)
    r[STATE], r[ATTEMPT], r[CRASHES], r[RUN_AT], r[ORD] = "q", 0, 0, false, ord
    r[FINISHED], r[EXPIRES], r[CANCEL], r[REASON] = false, false, false, false
    if free then
        r[HELD] = true
        later("HSET", P .. "lock", r[LOCK], id)
    end
    enter(r, id)
    write(id, r)
    later("HDEL", P .. "result", id) -- what an attempt proposed for review: the next one may return nothing
    flush()
    audit(now, actor, "retry", id, { from = NAMES[state] })
    return "queued"
end

for n = 4, #ARGV do
    local r = read_one(ARGV[n])
    answers[n - 3] = not r and "missing" or FROM[r[STATE]] and again(r, ARGV[n]) or NAMES[r[STATE]]
end
notify("jobs")
return answers
