-- Queues ended or waiting jobs now, with all attempts; the token stays: it only grows. A job takes a key that it released
-- again, unless another job has it. ARGV: engine time, now, actor, ids. Returns per id what became of it.
-- uses: base batch record admit notify names audit
allow_oom()
local ord, now, actor, results = instant(ARGV[1]), tonumber(ARGV[2]), ARGV[3], {}
local FROM = { d = true, x = true, v = true, s = true }

local function again(r, id)
    local state = r[STATE]
    local free = r[LOCK] and not r[HELD] and (not r[LOCK_UNTIL] or r[LOCK_UNTIL] == 0) and state ~= "s"
    if free and call("HEXISTS", P .. "lock", r[LOCK]) == 1 then
        return "duplicate"
    end
    unindex(r, id)
    r[ATTEMPT], r[CRASHES], r[RUN_AT] = 0, 0, false
    r[FINISHED_AT], r[EXPIRES_AT], r[CANCEL_AT], r[REASON] = false, false, false, false
    if free then
        r[HELD] = true
        later("HSET", P .. "lock", r[LOCK], id)
    end
    admit(r, id, false, ord)
    write(id, r)
    later("HDEL", P .. "result", id) -- an earlier attempt may have proposed one for review; the next may return nothing
    later("HDEL", P .. "children", id)
    flush()
    audit(now, actor, "retry", id, { from = NAMES[state] })
    return "queued"
end

for n = 4, #ARGV do
    local r = read_one(ARGV[n])
    results[n - 3] = not r and "missing" or FROM[r[STATE]] and again(r, ARGV[n]) or NAMES[r[STATE]]
end
notify("jobs")
return results
