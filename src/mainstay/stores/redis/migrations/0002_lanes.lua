-- One bounded call of a step; the hash `migration` holds the number of steps that are done and the cursor of the next.
-- Step 1 enters the lane of every queued job in the set `lanes`, step 2 removes the empty ones, step 3 changes the version.
-- KEYS[1]: the prefix. ARGV: entries a call, "1" when workers of schema 1 may go on. Returns the workers that must stop.
-- Migrations share no code with the statements: those change with later schemas, what is read here does not.
local P, call, count = KEYS[1], redis.call, ARGV[1]
local STATE, LANE = 1, 8 -- in a job's record of schema 1

local function enter_lanes(cursor)
    local page = call("HSCAN", P .. "job", cursor, "COUNT", count)
    for n = 2, #page[2], 2 do
        local record = cmsgpack.unpack(page[2][n])
        if record[STATE] == "q" then
            call("SADD", P .. "lanes", record[LANE])
        end
    end
    return page[1]
end

local function remove_empty_lanes(cursor)
    local page = call("SSCAN", P .. "lanes", cursor, "COUNT", count)
    for _, lane in ipairs(page[2]) do
        if call("EXISTS", P .. "queue:" .. lane) == 0 then
            call("SREM", P .. "lanes", lane)
        end
    end
    return page[1]
end

if call("GET", P .. "schema") ~= "1" then
    return {} -- another process was first
end
local step = tonumber(call("HGET", P .. "migration", "step") or 0)
if step < 2 then
    local cursor = ({ enter_lanes, remove_empty_lanes })[step + 1](call("HGET", P .. "migration", "cursor") or "0")
    call("HSET", P .. "migration", "cursor", cursor, "step", cursor == "0" and step + 1 or step)
    return {}
end
local time = call("TIME")
local workers = call("ZRANGEBYSCORE", P .. "workers", "(" .. time[1] * 1000, "+inf")
if ARGV[2] ~= "1" and #workers > 0 then
    return workers
end
call("HDEL", P .. "migration", "step", "cursor")
call("HSET", P .. "migration", "readable_from", 2)
call("SET", P .. "schema", 2)
return {}
