-- Queues ended or waiting jobs now, with all attempts; the token stays: it only grows. A job takes a key that it released
-- again, unless another job has it. ARGV: see parts/audit.lua; then details that are the same for all (JSON) and, if they are to wait, the
-- time of each. Returns per id what became of it.
-- uses: base batch record admit notify audit -- rarely: lane rules examine
local ord, same, FROM = instant(ARGV[1]), 6 + tonumber(ARGV[5]), { d = true, x = true, v = true, s = true }
local results = each_job(function(r, id, n)
    local state, at = r[STATE], tonumber(ARGV[same + n] or nil)
    at = at and at > tonumber(ARGV[2]) and at or false
    if not FROM[state] then
        return NAMES[state]
    end
    local free = r[LOCK] and not r[HELD] and (not r[LOCK_UNTIL] or r[LOCK_UNTIL] == 0) and state ~= "s"
    local holder = free and holder_of(r[LOCK])
    if holder and holder ~= id then
        return "duplicate " .. holder .. " " .. string.match(r[LOCK], "^[^:]*:(.*)$")
    end
    index("ZREM", r, id)
    r[ATTEMPT], r[CRASHES], r[RUN_AT] = 0, 0, at
    r[FINISHED_AT], r[EXPIRES_AT], r[CANCEL_AT], r[REASON] = false, false, false, false
    if r[START_BY] then -- an operator wants it all the same
        local carried = r[RULES] and cjson.decode(r[RULES]) or {}
        carried.start_by = nil
        r[START_BY], r[RULES] = false, next(carried) and cjson.encode(carried) or false
    end
    if free then
        r[HELD] = true
        later("HSET", P .. "lock", r[LOCK], id)
    end
    admit(r, id, at, ord, r[RULES] and "")
    write(id, r)
    later("HDEL", P .. "result", id) -- an earlier attempt may have proposed one for review; the next may return nothing
    later("HDEL", P .. "children", id)
    flush()
    local detail = cjson.decode(ARGV[same])
    detail.from = NAMES[state]
    audit("retry", id, detail)
    return at and "scheduled" or "queued"
end)
if made then
    made.settle(ord)
end
notify("jobs")
return results
