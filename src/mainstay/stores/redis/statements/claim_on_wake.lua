-- One job for a worker that waits on its bell, in the very moment of a ring: enqueue and claim share one write to the disk.
-- ARGV: now, worker, the rings it knows of as "jobs cancel", how many queues; per queue how many lanes, lanes.
-- Answers the instant and the job as claim.lua does; false when it did not ring, nothing is there or the lease is over.
-- uses: base batch record place take
local counts = call("HMGET", P .. "rings", "jobs", "cancel")
if (counts[1] or "0") .. " " .. (counts[2] or "0") == ARGV[3] then
    return false
end
local now, worker = instant(ARGV[1]), ARGV[2]
local lease = call("ZSCORE", P .. "workers", worker)
if not lease or tonumber(lease) <= now then
    return false
end
allow_oom()
local answer = { now }
for _, lanes in ipairs(queues_in(ARGV, 4)) do
    if take(worker, lanes, 1, now, answer) > 0 then
        return answer
    end
end
return false
