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

-- Returns what tells the position of a lane's queue among the wanted ones (nil: the lane is not wanted), and how many queues there are.
local function positions(at)
    local found, count = {}, tonumber(ARGV[at])
    local first = at + 1
    for q = 1, count do
        local last = first + tonumber(ARGV[first])
        for k = first + 1, last do
            found[ARGV[k]] = q
        end
        first = last + 1
    end
    return function(lane)
        return found[lane]
    end, count
end
