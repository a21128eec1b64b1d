-- A server that stood still (paused, swapped out, cut off) let no worker renew its lease. Such a worker is not dead: the leases
-- that ran out meanwhile go on for a while, and a worker that comes back in that time costs its jobs no crash. `seen` is when
-- workers last reached the server; the hash `stalled` names those whose lease goes on ("returned": it has deregistered).
local STALLED = 4000 -- ms without any worker: one sweeps every second and renews its lease every three
local GO_ON = 5000 -- ms

local function revive(now)
    local seen = tonumber(call("GET", P .. "seen") or 0)
    if ARGV[1] ~= "" or (seen > 0 and now - seen < 1000) then -- the caller's clock says nothing about the server
        return
    end
    allow_oom()
    call("SET", P .. "seen", now)
    if seen > 0 and now - seen > STALLED then
        for _, worker in ipairs(call("ZRANGEBYSCORE", P .. "workers", "-inf", now)) do
            call("ZADD", P .. "workers", now + GO_ON, worker)
            call("HSET", P .. "stalled", worker, "")
        end
    end
end
