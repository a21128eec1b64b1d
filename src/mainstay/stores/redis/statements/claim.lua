-- Writes updates, applies transitions, promotes due jobs and takes up to `limit` jobs for a worker, or does none of it where
-- the lease is over. ARGV: now, worker, limit, what it wants (two values: parts/take.lua), how many updates, updates
-- (parts/update.lua), transitions (parts/outcome.lua). Returns the verdicts, the instant, how long until the next job is due
-- (false: none is scheduled, or there were enough to take), then the jobs (parts/take.lua).
-- uses: base batch record admit lane notify draft update outcome take
local now, worker, limit = instant(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return "lost"
end
allow_oom()

local updates = tonumber(ARGV[6])
write_updates(ARGV, 7, updates)
local first = 7 + updates * 5
local verdicts, news = apply(ARGV, first, (#ARGV - first + 1) / 5, now)
promote(now, 500)

local reply = { verdicts, now, false }
if take(worker, tonumber(ARGV[4]), ARGV[5], limit, now, reply) < limit then
    local next_due = call("ZRANGE", P .. "due", 0, 0, "WITHSCORES")[2]
    reply[3] = next_due and tonumber(next_due) - now or false
end
if news then -- for other workers too: they may know types that this one lacks
    notify("jobs")
end
return reply
