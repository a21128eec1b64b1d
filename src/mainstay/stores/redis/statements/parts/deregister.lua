-- Removes a worker for good. `gone` keeps its name while it has running jobs.
local function deregister(worker)
    call("ZREM", P .. "workers", worker)
    call("HDEL", P .. "worker", worker)
    call("HDEL", P .. "declared", worker)
    call("HDEL", P .. "beat", worker)
    call("SREM", P .. "armed", worker)
    call("HDEL", P .. "stalled", worker)
    call("DEL", P .. "bell:" .. worker)
    if call("EXISTS", P .. "run:" .. worker) == 1 then
        call("SADD", P .. "gone", worker)
    end
end
