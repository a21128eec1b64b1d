-- Takes one job for a waiting worker as soon as it is notified: enqueue and claim share one write to the disk.
-- ARGV: now, worker, the notifications it has seen as "jobs cancel", what it wants (parts/few.lua or many.lua).
-- Returns the instant and the job; false where it was not notified, there is no job or the lease is over; "rules" as `claim` does.
-- uses: base batch record admit notify few take -- rarely: lane rules examine parents lines start
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
local reply, taken, denied = { now }, 0, 0
local ruled = flow and call("EXISTS", P .. "rule:pause", P .. "rule:breaker") > 0
if not flow then
    bounded = false
end
if not ruled then
    taken, denied = take(worker, (lanes_wanted(4)), 1, now, reply)
end
-- With a job in hand it leaves lines to the claim that follows.
if ruled or (taken == 0 and (made or (flow and call("EXISTS", P .. "wait:", P .. "wait:+", P .. "woken", P .. "ending") > 0))) then
    taken = flow().take_open(worker, 4, 1, now, reply, true, not ruled and { taken = taken, denied = denied })
elseif made then
    made.keep_touched()
end
return taken > 0 and reply
