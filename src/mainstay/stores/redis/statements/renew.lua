-- Renews a lease that has not run out; one that has is gone for good. Never shortens a lease and never clears `stopping`:
-- the worker and its supervisor both renew, and either may come late with an old clock. ARGV: now, worker, lease, stopping.
-- Returns whether the lease holds, what is asked of the worker, then id and token of each running job that was asked to stop.
-- uses: base batch record stall
local now, worker = instant(ARGV[1]), ARGV[2]
revive(now)
local expires = tonumber(call("ZSCORE", P .. "workers", worker) or 0)
local answer = { 0, call("HGET", P .. "wanted", worker) or "" }
if expires > now then
    answer[1] = 1
    allow_oom()
    call("HDEL", P .. "stalled", worker)
    call("ZADD", P .. "workers", math.max(expires, now + tonumber(ARGV[3])), worker)
    local started, beaten, stopping = string.match(call("HGET", P .. "beat", worker), "^(%S+) (%S+)(.*)$")
    stopping = ARGV[4] == "1" and " stopping" or stopping
    call("HSET", P .. "beat", worker, string.format("%s %.0f%s", started, math.max(tonumber(beaten), now), stopping))
end
local cancelling = call("SMEMBERS", P .. "stop:" .. worker)
for id, r in pairs(read(cancelling)) do
    answer[#answer + 1] = id
    answer[#answer + 1] = r[TOKEN]
end
return answer
