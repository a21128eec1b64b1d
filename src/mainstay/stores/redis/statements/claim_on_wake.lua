-- Takes one job for a waiting worker as soon as it is notified: enqueue and claim share one write to the disk.
-- ARGV: now, worker, the notifications it has seen as "jobs cancel", what it wants (parts/few.lua or many.lua).
-- Returns the instant and the job; false where it was not notified, there is no job or the lease is over.
-- uses: base batch record admit notify take few
if notifications() == ARGV[3] then
    return false
end
local now, worker = instant(ARGV[1]), ARGV[2]
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return false
end
allow_oom()
local reply = { now }
return take(worker, (lanes_wanted(4)), 1, now, reply) > 0 and reply
