-- Writes notes, applies transitions, promotes what is due and takes up to `limit` jobs for a worker, or nothing of it when
-- its lease is over. ARGV: now, worker, limit, how many queues; per queue how many lanes, lanes; how many notes, notes
-- (parts/update.lua); transitions (parts/outcome.lua).
-- Answers the verdicts, the instant, how long until the next is due (false: nothing is, or there was enough), then per job
-- seven values: seq and id, meta, payload, attempt, crashes, token, ord. One range read a lane, merged by place: what a
-- worker does not know lies in lanes that are never looked at.
-- uses: base batch record place notify draft update outcome take
local now, worker, limit = instant(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return "lost"
end
allow_oom()

local queues, at = queues_in(ARGV, 4)
local notes = tonumber(ARGV[at])
write_updates(ARGV, at + 1, notes)
local first = at + 1 + notes * 5
local verdicts, news = apply(ARGV, first, (#ARGV - first + 1) / 5, now)
promote(now, 500)

local answer, taken = { verdicts, now, false }, 0
for _, lanes in ipairs(queues) do
    if taken >= limit then
        break
    end
    taken = taken + take(worker, lanes, limit - taken, now, answer)
end
if taken < limit then
    local next_due = call("ZRANGE", P .. "due", 0, 0, "WITHSCORES")[2]
    answer[3] = next_due and tonumber(next_due) - now or false
end
if news then -- for other workers too: they may know what this one does not
    notify("jobs")
end
return answer
