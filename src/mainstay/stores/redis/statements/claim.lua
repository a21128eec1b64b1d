-- Writes updates, applies transitions, promotes due jobs and takes up to `limit` jobs for a worker, or does none of it where
-- the lease is over. ARGV: now, worker, limit, what it wants (parts/few.lua or many.lua), how many updates, updates
-- (parts/update.lua), transitions (parts/outcome.lua). Returns the verdicts, the instant, how long until the next job is due
-- (false: none is scheduled, or there were enough to take), then the jobs (parts/take.lua); "lost" where the lease is over; "rules"
-- where the variant for jobs with rules is needed (script.py): nothing is done then.
-- uses: base batch record admit notify draft update code outcome few take -- rarely: lane rules examine parents breaker start
local now, worker, limit = instant(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return "lost"
end
if not flow and call("EXISTS", P .. "flow") == 1 then
    return "rules"
end
allow_oom()
-- Rules matter to all jobs where lanes are left out, jobs are counted or blocked ones are to be examined.
local ruled = flow and call(
    "EXISTS", P .. "rule:pause", P .. "rule:breaker", P .. "depth", P .. "wait:", P .. "wait:+", P .. "woken", P .. "ending"
) > 0
if not ruled then
    bounded = false
end

local next_lanes, at = lanes_wanted(4)
local updates = tonumber(ARGV[at])
write_updates(ARGV, at + 1, updates)
local first = at + 1 + updates * 5
local verdicts, news = apply(ARGV, first, worker, now)
promote(now, 500)

local reply, taken, wake = { verdicts, now, false }, 0, nil
if not made and not ruled then
    taken = take(worker, next_lanes, limit, now, reply)
end
if made or ruled then -- `made`: some of them have rules
    taken, wake = flow().take_open(worker, 4, limit, taken, now, reply)
end
if taken < limit then
    local due = call("ZRANGE", P .. "due", 0, 0, "WITHSCORES")[2]
    due = math.min(due and tonumber(due) or math.huge, wake or math.huge)
    reply[3] = due < math.huge and due - now
end
if news then -- for other workers too: they may know types that this one lacks
    notify("jobs")
end
return reply
