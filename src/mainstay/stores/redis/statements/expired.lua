-- Returns up to `limit` ended jobs whose retention is over, the oldest first: kept long enough, or beyond the last that are kept of
-- their type and state. One for which a child waits is left out, and looked at again after a while. ARGV: now, limit, and for how
-- many ms no other call returns them. Returns of each: its number and id, when it ended, until when it is kept (-1: for ever).
-- uses: base batch record admit -- rarely: lane rules
local AGAIN = 60000 -- ms
local now, limit, hold = instant(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local reply, chosen = {}, {}

local function awaited(r, id)
    return r[AWAITED] and call("ZLEXCOUNT", P .. "after", "[p" .. id .. "\0", "(p" .. id .. "\1") > 0
end

local function choose(r, id)
    if not chosen[id] then
        chosen[id] = true
        if hold > 0 then
            r[EXPIRES_AT] = now + hold
            later("ZADD", P .. "expiry", r[EXPIRES_AT], id)
            write(id, r)
        end
        reply[#reply + 1] = { r[SEQ] .. id, r[FINISHED_AT], r[EXPIRES_AT] or -1 }
    end
end

local ids = call("ZRANGEBYSCORE", P .. "expiry", "-inf", now, "LIMIT", 0, limit)
local found = read(ids)
for _, id in ipairs(ids) do
    local r = found[id]
    if awaited(r, id) then
        later("ZADD", P .. "expiry", now + AGAIN, id)
    else
        choose(r, id)
    end
end

-- Chooses the oldest jobs of a group that are too many. The newest says how many are kept.
local function beyond(group)
    local key = P .. "kept:" .. group
    local newest = call("ZRANGE", key, -1, -1)[1]
    local r = newest and read_one(newest)
    if newest and not r then -- code of an older schema has removed it
        return later("ZREM", key, newest)
    elseif not newest then
        return later("SREM", P .. "kept", group)
    elseif r[STATE] == "d" and not string.find(r[HEADER], '"keep_dead":', 1, true) then
        return
    end
    local surplus = call("ZCARD", key) - tonumber(string.match(r[HEADER], '"keep_last":(%d+)'))
    local some = surplus > 0 and call("ZRANGE", key, 0, math.min(surplus, limit - #reply) - 1) or {}
    local jobs = read(some)
    for _, id in ipairs(some) do
        local job = jobs[id]
        if not job then
            later("ZREM", key, id)
        elseif not awaited(job, id) and not (job[LOCK_UNTIL] and job[LOCK_UNTIL] > now) then
            if hold > 0 then -- it is no longer counted
                later("ZREM", key, id)
                job[HEADER] = string.gsub(string.gsub(job[HEADER], '"keep_last":%d+,', ""), ',?"keep_last":%d+', "")
            end
            choose(job, id)
        end
    end
end

for _, group in ipairs(call("SMEMBERS", P .. "kept")) do
    if #reply < limit then
        beyond(group)
    end
end
flush()
return reply
