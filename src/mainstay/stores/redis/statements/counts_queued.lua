-- How many queued jobs in each lane, and since when the oldest waits there: without a look at the jobs themselves.
-- Lanes that are empty are forgotten. Served by `lanes` and the `queue:` of each.
-- uses: base
local ORDS = 4398046511104 -- see parts/place.lua
local rows = {}

-- The oldest entry: the first of each priority that there is.
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

for _, lane in ipairs(call("SMEMBERS", P .. "lanes")) do
    local count = call("ZCARD", P .. "queue:" .. lane)
    if count == 0 then
        call("SREM", P .. "lanes", lane)
    else
        rows[#rows + 1] = { lane, count, oldest(P .. "queue:" .. lane) }
    end
end
return rows
