-- How many jobs are in each lane: queued jobs by the size of the lane, others by reading some of each index, all at one
-- instant. ARGV: how many entries of each index, from which rank. Returns per index the letter of its state, how many entries
-- were read, and rows of lane, 1 for jobs with attempts behind them or 0, count, and the earliest of the instants that the
-- state goes by; queued jobs with rank 0 only. Removes empty lanes from `lanes`.
-- uses: base batch record
local ORDS = 4398046511104 -- see parts/admit.lua
local count, first = tonumber(ARGV[1]), tonumber(ARGV[2])

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
    local rows = { "q", 0 }
    for _, lane in ipairs(call("SMEMBERS", P .. "lanes")) do
        local jobs = call("ZCARD", P .. "queue:" .. lane)
        if jobs == 0 then
            call("SREM", P .. "lanes", lane)
        else
            rows[#rows + 1] = { lane, 0, jobs, oldest(P .. "queue:" .. lane) }
        end
    end
    return rows
end

local function since(r)
    return r[STATE] == "s" and r[RUN_AT] or r[STATE] == "r" and r[STARTED_AT] or r[STATE] == "d" and r[FINISHED_AT]
        or tonumber(string.match(r[HEADER], "^[^\n]*\n(%d+)"))
end

-- Counts entries of the index `key`; `start` is where in them the id begins.
local function counted(state, key, start)
    local ids, sums = call("ZRANGE", P .. key, first, first + count - 1), {}
    local rows = { state, #ids }
    for n = 1, #ids do
        ids[n] = string.sub(ids[n], start)
    end
    for _, r in pairs(read(ids)) do
        local again, at = state == "s" and r[ATTEMPT] > 0 and 1 or 0, since(r)
        local sum = sums[again .. r[LANE]]
        if not sum then
            sum = { r[LANE], again, 0, at }
            sums[again .. r[LANE]], rows[#rows + 1] = sum, sum
        end
        sum[3], sum[4] = sum[3] + 1, math.min(sum[4], at)
    end
    return rows
end

local reply = { counted("s", "due", SEQ_LENGTH + 1), counted("v", "review", 1), counted("d", "dead", 1) }
if first == 0 then
    reply[#reply + 1] = queued()
end
for _, workers in ipairs({ call("ZRANGE", P .. "workers", 0, -1), call("SMEMBERS", P .. "gone") }) do
    for _, worker in ipairs(workers) do -- registered, or gone and with jobs left behind
        reply[#reply + 1] = counted("r", "run:" .. worker, 1)
    end
end
return reply
