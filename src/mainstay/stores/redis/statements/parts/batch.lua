-- Writes that are gathered and sent together, one command a key: first what is taken out, then what is put in.
-- Taking out needs no memory, so a server at its limit lets it through, and then all that follows: a script is refused at
-- its first write or not at all. A member that is put in and then taken out again needs a `flush` in between.
local ORDER = { "ZREM", "SREM", "HDEL", "HSET", "ZADD", "SADD" }
local gathered = { ZREM = {}, SREM = {}, HDEL = {}, HSET = {}, ZADD = {}, SADD = {} }

local function later(command, key, first, second)
    local list = gathered[command][key]
    if not list then
        list = { n = 0 }
        gathered[command][key] = list
    end
    local n = list.n + 1
    list[n] = first
    if second ~= nil then
        n = n + 1
        list[n] = second
    end
    list.n = n
end

local function flush()
    for _, command in ipairs(ORDER) do
        local lists = gathered[command]
        if next(lists) then
            gathered[command] = {}
            for key, list in pairs(lists) do
                many(command, key, list)
            end
        end
    end
end

-- Lets a statement go through on a server whose memory is full: for what moves or frees and must not stop there.
local function allow_oom()
    call("HDEL", P .. "job", "")
end
