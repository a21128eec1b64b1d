-- Takes one job for a waiting worker as soon as it is notified: enqueue and claim share one write to the disk.
-- ARGV: now, worker, the notifications it has seen as "jobs cancel", what it wants (parts/few.lua or many.lua).
-- Returns the instant and the job; false where it was not notified, there is no job or the lease is over; "rules" as `claim` does.
-- uses: base batch record admit notify few take -- rarely: lane rules examine parents start
if notifications() == ARGV[3] then
    return false
end
local now, worker = instant(ARGV[1]), ARGV[2]
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return false
end
if not flow and call("EXISTS", P .. "flow") == 1 then
    return "rules"
end
allow_oom()
local reply = { now }
local ruled, taken = flow and call(
    "EXISTS", P .. "rule:pause", P .. "rule:breaker", P .. "wait:", P .. "wait:+", P .. "woken", P .. "ending"
) > 0, 0
if not flow then
    bounded = false
end
if not ruled then
    taken = take(worker, (lanes_wanted(4)), 1, now, reply)
end
if made or ruled then
    taken = flow().take_open(worker, 4, 1, taken, now, reply)
end
return taken > 0 and reply
