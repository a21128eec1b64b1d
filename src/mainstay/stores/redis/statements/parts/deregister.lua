-- Removes a worker for good. `gone` keeps its name while it has running jobs.
local function deregister(worker)
    call("ZREM", P .. "workers", worker)
    call("SREM", P .. "armed", worker)
    for _, hash in ipairs({ "worker", "declared", "beat", "stalled", "wanted" }) do
        call("HDEL", P .. hash, worker)
    end
    call("DEL", P .. "bell:" .. worker)
    if call("EXISTS", P .. "run:" .. worker) == 1 then
        call("SADD", P .. "gone", worker)
    end
end
