-- Writes that are collected and sent together, one command per key: removals first, then additions.
-- A removal needs no memory, so a server at its memory limit accepts it, and then every write that follows: it refuses a
-- script at its first write or not at all. A member that is added and then removed needs a `flush` in between.
local ORDER = { "ZREM", "SREM", "HDEL", "HSET", "ZADD", "SADD" }
local collected = { ZREM = {}, SREM = {}, HDEL = {}, HSET = {}, ZADD = {}, SADD = {} }

local function later(command, key, first, second)
    local list = collected[command][key]
    if not list then
        list = { n = 0 }
        collected[command][key] = list
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
        local lists = collected[command]
        if next(lists) then
            collected[command] = {}
            for key, list in pairs(lists) do
                many(command, key, list)
            end
        end
    end
end

-- Lets a statement run on a server whose memory is full: for statements that move or free jobs and must not stop there.
local function allow_oom()
    call("HDEL", P .. "job", "")
end
