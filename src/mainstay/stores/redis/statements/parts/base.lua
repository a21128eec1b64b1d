-- What every statement begins with. KEYS[1] is the prefix of all keys: one hash tag, so one node of a cluster has them all.
local P = KEYS[1]
local call = redis.call
local PIECE = 4000 -- values in one command: Lua's stack holds 8,000; even, so that pairs stay together

-- The instant to judge by: the caller's, or where it gave none ("") the server's own, in milliseconds.
local function instant(text)
    if text ~= "" then
        return tonumber(text)
    end
    local time = call("TIME")
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Runs a command on a key with a list of values, in as few pieces as fit.
local function many(command, key, list)
    local count = #list
    for start = 1, count, PIECE do
        call(command, key, unpack(list, start, math.min(start + PIECE - 1, count)))
    end
end
