-- The index of each state: a job is in exactly those that its record tells.
--   queue:<lane>  by priority, then time, then number      due      by the instant it is due
--   run:<worker>  by the end of its timeout                review, dead   by id
--   ended:<c|x|d> by the instant of its end                expiry   by the end of its retention
local ORDS = 4398046511104 -- 2^42: milliseconds until the year 2109; with 2001 priorities above it within a double's 53 bits
local ENDED = { c = true, x = true, d = true }

local function score(r)
    local priority = math.max(-1000, math.min(1000, r[PRIORITY]))
    return (1000 - priority) * ORDS + math.max(0, math.min(ORDS - 1, r[ORD]))
end

-- The key of a lane's queue; one that is met for the first time in a script is entered among the lanes.
local queues = {}
local function queue_of(lane)
    if not queues[lane] then
        queues[lane] = P .. "queue:" .. lane
        later("SADD", P .. "lanes", lane)
    end
    return queues[lane]
end

local function enter(r, id)
    local state = r[STATE]
    if state == "q" then
        later("ZADD", queue_of(r[LANE]), score(r), r[SEQ] .. id)
    elseif state == "s" then
        later("ZADD", P .. "due", r[RUN_AT], r[SEQ] .. id)
    elseif state == "v" then
        later("ZADD", P .. "review", 0, id)
    elseif ENDED[state] then
        later("ZADD", P .. "ended:" .. state, r[FINISHED], id)
        if state == "d" then
            later("ZADD", P .. "dead", 0, id)
        end
        if r[EXPIRES] then
            later("ZADD", P .. "expiry", r[EXPIRES], id)
        end
    end
end

local function leave(r, id)
    local state = r[STATE]
    if state == "q" then
        later("ZREM", P .. "queue:" .. r[LANE], r[SEQ] .. id)
    elseif state == "s" then
        later("ZREM", P .. "due", r[SEQ] .. id)
    elseif state == "r" then
        later("ZREM", P .. "run:" .. r[WORKER], id)
        if r[CANCEL] then
            later("SREM", P .. "stop:" .. r[WORKER], id)
        end
    elseif state == "v" then
        later("ZREM", P .. "review", id)
    elseif ENDED[state] then
        later("ZREM", P .. "ended:" .. state, id)
        if state == "d" then
            later("ZREM", P .. "dead", id)
        end
        if r[EXPIRES] then
            later("ZREM", P .. "expiry", id)
        end
    end
end

-- Takes a job out of the index by key, tenant, ref, parent and tags.
local function unindex(r, id)
    for _, term in ipairs(r[TERMS] or {}) do
        later("ZREM", P .. "terms", term .. id)
    end
end

-- Lets the key go that a job holds.
local function release(r)
    if r[HELD] then
        later("HDEL", P .. "lock", r[LOCK])
        r[HELD] = false
    end
end

-- Ends a job: it is kept until `expires` (false: for ever), but never shorter than its key holds.
local function finish(r, state, at, expires, reason)
    r[STATE], r[WORKER], r[RUN_AT], r[FINISHED], r[REASON] = state, false, false, at, reason
    r[EXPIRES] = expires and math.max(expires, r[UNTIL] or 0)
    if not r[UNTIL] or r[UNTIL] == 0 then
        release(r)
    end
end

-- Queues up to `limit` scheduled jobs whose time has come, the longest due first; answers how many.
local function promote(now, limit)
    local due = call("ZRANGEBYSCORE", P .. "due", "-inf", now, "LIMIT", 0, limit)
    if #due == 0 then
        return 0
    end
    local ids = {}
    for n = 1, #due do
        ids[n] = string.sub(due[n], SEQ_LENGTH + 1)
    end
    for id, r in pairs(read(ids)) do
        leave(r, id)
        r[STATE], r[ORD] = "q", r[RUN_AT]
        enter(r, id)
        write(id, r)
    end
    flush()
    return #due
end
