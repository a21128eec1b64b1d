-- Admission, and the index of each state. A job is in exactly those indexes that its record tells.
--   queue:<lane>  by priority, then time, then number      due            by the time at which it is due
--   run:<worker>  by the end of its timeout                review, dead   by id
--   ended:<c|x|d> by the time of its end                   expiry         by the end of its retention
--   kept:<c|x|d>:<type>  by the time of its end: jobs of which only the last are kept; the set `kept` has the names
-- A job with rules has further ones (parts/rules.lua).
local ORDS = 4398046511104 -- 2^42: milliseconds until the year 2109; with 2001 priorities above it within a double's 53 bits
local ENDED = { c = true, x = true, d = true }
local flow, made -- returns what jobs with rules need (parts/rules.lua), which is made when the first of them is met (script.py)

-- Comparisons instead of math.max and math.min: the calls take some 5 % of a bulk enqueue.
local function score(r)
    local priority, ord = r[PRIORITY], r[ORD]
    priority = priority > 1000 and 1000 or priority < -1000 and -1000 or priority
    ord = ord >= ORDS and ORDS - 1 or ord < 0 and 0 or ord
    return (1000 - priority) * ORDS + ord
end

-- Returns the key of a lane's queue. The set `lanes` names every lane with jobs; a script adds each lane once. A claim
-- removes the lanes that it empties or finds empty (take.lua), so the set may name an empty lane but lacks none with jobs.
local queues = {}
local function queue_of(lane)
    if not queues[lane] then
        queues[lane] = P .. "queue:" .. lane
        later("SADD", P .. "lanes", lane)
    end
    return queues[lane]
end

local function change(command, key, score, member)
    if command == "ZADD" then
        later(command, key, score, member)
    else
        later(command, key, member)
    end
end

-- Adds a job to its indexes ("ZADD"), or removes it from them ("ZREM"). The hash `depth` has the queues whose jobs are counted.
local bounded
local function index(command, r, id)
    local state, adds = r[STATE], command == "ZADD"
    if r[RULES] ~= nil then
        flow().mark(command, r, id)
    end
    if state == "q" then
        change(command, adds and queue_of(r[LANE]) or P .. "queue:" .. r[LANE], score(r), r[SEQ] .. id)
    elseif state == "s" then
        change(command, P .. "due", r[RUN_AT], r[SEQ] .. id)
    elseif state == "r" then
        change(command, P .. "run:" .. r[WORKER], r[TIMEOUT] and r[STARTED_AT] + r[TIMEOUT] or "+inf", id)
        if r[CANCEL_AT] then
            later(adds and "SADD" or "SREM", P .. "stop:" .. r[WORKER], id)
        end
    elseif state == "v" then
        change(command, P .. "review", 0, id)
    elseif ENDED[state] then
        change(command, P .. "ended:" .. state, r[FINISHED_AT], id)
        if state == "d" then
            change(command, P .. "dead", 0, id)
        end
        if r[EXPIRES_AT] then
            change(command, P .. "expiry", r[EXPIRES_AT], id)
        end
        if string.find(r[HEADER], '"keep_last":', 1, true) then
            local group = state .. ":" .. string.match(r[HEADER], '^%["(.-)",')
            change(command, P .. "kept:" .. group, r[FINISHED_AT], id)
            if adds then
                later("SADD", P .. "kept", group)
            end
        end
    end
    if bounded == nil then
        bounded = call("EXISTS", P .. "depth") == 1
    end
    if bounded and (state == "q" or state == "s" or state == "b") then
        flow().count(r, id, adds and 1 or -1)
    end
end

-- The one door into `queued`. Every path that makes a job runnable ends here: enqueue, replace, children, promotion, retry,
-- released and retried outcomes. It decides the state and the place in the order: a job that is due later is scheduled and takes
-- its place by that time; one that rules may hold back is blocked, `waits` says for what, and examined at the end of the script
-- (parts/examine.lua); any other is queued at `ord`.
local function admit(r, id, due_later, ord, waits)
    if due_later then
        r[STATE], r[ORD] = "s", r[RUN_AT]
    elseif waits then
        r[STATE], r[ORD], r[WAITS], r[RATED] = "b", ord, waits, false
        flow().touch(waits)
    else
        r[STATE], r[ORD] = "q", ord
    end
    index("ZADD", r, id)
end

-- Removes a job from the index by key, tenant, ref, parent and tags.
local function remove_terms(r, id)
    for _, term in ipairs(r[TERMS] or {}) do
        later("ZREM", P .. "terms", term .. id)
    end
end

-- Returns the job that holds a lock, or has taken its key for ever.
local function holder_of(lock)
    local holder = call("HGET", P .. "lock", lock)
    if holder then
        return holder
    end
    local kept = call("HGET", P .. "key", lock)
    return kept and string.match(kept, "^%S+")
end

-- Releases the key that a job holds.
local function release(r)
    if r[HELD] then
        later("HDEL", P .. "lock", r[LOCK])
        r[HELD] = false
    end
end

-- Counts jobs of a lane (core/tally.py): a hash `tally:<minute>` has a field for each name and type, the set `tallies` the minutes.
local function tally_up(minute, lane, names)
    local length, rest = string.match(lane, "^(%d+):(.*)$")
    local type = string.sub(rest, tonumber(length) + 2)
    for name, n in pairs(names) do
        call("HINCRBY", P .. "tally:" .. minute, name .. ":" .. type, string.format("%.0f", n))
    end
    call("ZADD", P .. "tallies", minute, minute)
end

-- Ends a job. It is kept until `expires` (false: for ever), or as its header says for its state, but at least as long as it holds
-- its key.
local NAMES = { c = "completed", x = "cancelled", d = "dead" }
local KEPT = { x = '"keep_cancelled":(%d+)', d = '"keep_dead":(%d+)' }
local function finish(r, id, state, at, expires, reason)
    local own = KEPT[state] and string.match(r[HEADER], KEPT[state])
    expires = own and at + tonumber(own) or expires
    index("ZREM", r, id)
    if r[STATE] ~= "r" then -- parts/tally.lua counts the others
        allow_oom()
        tally_up(math.floor(at / 60000), r[LANE], { [NAMES[state]] = 1 })
    end
    r[STATE], r[WORKER], r[RUN_AT], r[FINISHED_AT], r[REASON] = state, false, false, at, reason
    r[EXPIRES_AT] = expires and r[LOCK_UNTIL] and math.max(expires, r[LOCK_UNTIL]) or expires
    if not r[LOCK_UNTIL] or r[LOCK_UNTIL] == 0 then
        release(r)
    end
    index("ZADD", r, id)
end

-- Queues up to `limit` scheduled jobs that are due, the longest due first.
local function promote(now, limit)
    local due = call("ZRANGEBYSCORE", P .. "due", "-inf", now, "LIMIT", 0, limit)
    if #due == 0 then
        return
    end
    local ids = {}
    for n = 1, #due do
        ids[n] = string.sub(due[n], SEQ_LENGTH + 1)
    end
    for id, r in pairs(read(ids)) do
        index("ZREM", r, id)
        admit(r, id, false, r[ORD], r[RULES] and "")
        write(id, r)
    end
    flush()
end
