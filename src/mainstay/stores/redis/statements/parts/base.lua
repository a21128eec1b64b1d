-- The beginning of every statement. KEYS[1] is the prefix of all keys. It is one hash tag: one node of a cluster has them all.
local P = KEYS[1]
local call = redis.call
local PIECE = 4000 -- values in one command: Lua's stack holds 8,000; even, so that pairs stay together

-- Returns the caller's time, or the server's own where the caller sent none (""), in milliseconds.
local function instant(text)
    if text ~= "" then
        return tonumber(text)
    end
    local time = call("TIME")
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Runs a command on a key with a list of values, in as few pieces as possible.
local function many(command, key, list)
    local count = #list
    for start = 1, count, PIECE do
        call(command, key, unpack(list, start, math.min(start + PIECE - 1, count)))
    end
end
