-- Renews a lease that has not run out; one that has is gone for good. Never shortens one: the worker and its supervisor both
-- beat, and whoever was held up in between comes with an old clock. ARGV: now, worker, lease.
-- Answers whether it holds, then id and token of each running job that was asked to stop.
-- uses: base batch record
local now, worker = instant(ARGV[1]), ARGV[2]
local expires = tonumber(call("ZSCORE", P .. "workers", worker) or 0)
local answer = { 0 }
if expires > now then
    answer[1] = 1
    allow_oom()
    call("ZADD", P .. "workers", math.max(expires, now + tonumber(ARGV[3])), worker)
    local started, beaten = string.match(call("HGET", P .. "beat", worker), "^(%S+) (%S+)$")
    call("HSET", P .. "beat", worker, string.format("%s %.0f", started, math.max(tonumber(beaten), now)))
end
local stopping = call("SMEMBERS", P .. "stop:" .. worker)
for id, r in pairs(read(stopping)) do
    answer[#answer + 1] = id
    answer[#answer + 1] = r[TOKEN]
end
return answer
