-- What a worker with few lanes wants: how many queues, then per queue how many lanes, lanes. They are probed directly.
-- Returns an iterator over the lanes of each queue, and where in ARGV the next value is.
local function lanes_wanted(at)
    local queues, count, n = {}, tonumber(ARGV[at]), 0
    at = at + 1
    for q = 1, count do
        local lanes = {}
        for k = 1, tonumber(ARGV[at]) do
            lanes[k] = ARGV[at + k]
        end
        queues[q], at = lanes, at + 1 + #lanes
    end
    return function()
        n = n + 1
        return queues[n], false
    end, at
end
