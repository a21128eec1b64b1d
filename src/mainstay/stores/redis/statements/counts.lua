-- How many jobs are in each lane: queued jobs by the size of the lane, others by reading some of each place, all at one
-- instant. ARGV: how many of each place, from which rank; then a place, if only one is wanted. A place is s, v, d, or r and
-- a worker: scheduled, in review, dead, running on that worker. Returns the queued jobs as rows of lane, count and oldest;
-- then for each place its name, how many were read, and rows of lane, label (1: with attempts behind it), count, and the
-- earliest of the instants that the state goes by. Removes empty lanes from `lanes`.
-- uses: base batch record
local ORDS = 4398046511104 -- see parts/admit.lua
local count, first, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

-- Returns the time of the oldest entry of a queue: the least of the first entries of each priority.
local function oldest(key)
    local least, from = nil, 0
    while true do
        local head = call("ZRANGEBYSCORE", key, from, "+inf", "WITHSCORES", "LIMIT", 0, 1)
        if #head == 0 then
            return least
        end
        local rank = math.floor(tonumber(head[2]) / ORDS)
        local ord = tonumber(head[2]) - rank * ORDS
        least, from = math.min(least or ord, ord), (rank + 1) * ORDS
    end
end

local function queued()
    local rows = {}
    for _, lane in ipairs(call("SMEMBERS", P .. "lanes")) do
        local jobs = call("ZCARD", P .. "queue:" .. lane)
        if jobs == 0 then
            call("SREM", P .. "lanes", lane)
        else
            rows[#rows + 1] = { lane, jobs, oldest(P .. "queue:" .. lane) }
        end
    end
    return rows
end

-- Returns every place: of workers, those that are registered and those that left jobs behind.
local function places()
    local all = { "s", "v", "d" }
    for _, worker in ipairs(call("ZRANGE", P .. "workers", 0, -1)) do
        all[#all + 1] = "r" .. worker
    end
    for _, worker in ipairs(call("SMEMBERS", P .. "gone")) do
        all[#all + 1] = "r" .. worker
    end
    return all
end

local SOURCES = { s = "due", v = "review", d = "dead" }
local function ids_in(place)
    local ids = call("ZRANGE", P .. (SOURCES[place] or "run:" .. string.sub(place, 2)), first, first + count - 1)
    if place == "s" then
        for n = 1, #ids do
            ids[n] = string.sub(ids[n], SEQ_LENGTH + 1)
        end
    end
    return ids
end

local function since(r)
    return r[STATE] == "s" and r[RUN_AT] or r[STATE] == "r" and r[STARTED_AT] or r[STATE] == "d" and r[FINISHED_AT]
        or tonumber(string.match(r[HEADER], "^[^\n]*\n(%d+)"))
end

local function counted(place)
    local ids, sums = ids_in(place), {}
    for _, r in pairs(read(ids)) do
        local again, at = place == "s" and r[ATTEMPT] > 0 and 1 or 0, since(r)
        local key = again .. r[LANE]
        local sum = sums[key] or { r[LANE], again, 0, at }
        sum[3], sum[4] = sum[3] + 1, math.min(sum[4], at)
        sums[key] = sum
    end
    local rows = { place, #ids }
    for _, sum in pairs(sums) do
        rows[#rows + 1] = sum
    end
    return rows
end

local reply = { asked and {} or queued() }
for _, place in ipairs(asked and { asked } or places()) do
    reply[#reply + 1] = counted(place)
end
return reply
