-- Writes updates, applies transitions, promotes due jobs and takes up to `limit` jobs for a worker, or does none of it where
-- the lease is over. ARGV: now, worker, limit, what it wants (parts/few.lua or many.lua), how many updates, updates
-- (parts/update.lua), transitions (parts/outcome.lua). Returns the verdicts, the instant, how long until the next job is due
-- (false: none is scheduled, or there were enough to take), then the jobs (parts/take.lua).
-- uses: base batch record admit notify draft update code outcome take few
local now, worker, limit = instant(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return "lost"
end
allow_oom()

local next_lanes, at = lanes_wanted(4)
local updates = tonumber(ARGV[at])
write_updates(ARGV, at + 1, updates)
local first = at + 1 + updates * 5
local verdicts, news = apply(ARGV, first, worker, now)
promote(now, 500)

local reply = { verdicts, now, false }
if take(worker, next_lanes, limit, now, reply) < limit then
    local next_due = call("ZRANGE", P .. "due", 0, 0, "WITHSCORES")[2]
    reply[3] = next_due and tonumber(next_due) - now or false
end
if news then -- for other workers too: they may know types that this one lacks
    notify("jobs")
end
return reply
