-- Looking at all lines and slots, or at those of one limit, some in each call. The hash `walks` has the walks that are under way and
-- the last name that each has looked at: "pause" over all, because a pause was set; "limit\n<name>" over a limit that was changed.
-- The key `walked` has how far the walk is that mends what was missed.
local FORGOTTEN = 86400000 -- ms, or places: by then a push is over, and a tenant has no turn to wait for
local changed = 0 -- holds that were removed

-- Returns what a slot means to a job: its limit or rate, or nil.
local function entry_of(r, slot)
    local carried = r and r[RULES] and rules_of(r[RULES])
    for _, entries in ipairs(carried and { carried.limits, carried.rates } or {}) do
        for _, entry in ipairs(entries) do
            if entry.slot == slot then
                return entry
            end
        end
    end
end

-- Returns the name of a pause of a job's lane, or nil.
local function paused_by(r, paused)
    local queue, type = split(r[LANE])
    for _, name in ipairs({ "all", "queue:" .. queue, "type:" .. type }) do
        if paused[name] then
            return name
        end
    end
end

-- Returns whether a job is to hold a slot, as its record tells.
local function holds(r, entry)
    return entry and (r[STATE] == "q" or (r[STATE] == "r" and not entry.every) or (r[STATE] == "s" and r[RATED] and entry.every))
end

-- Returns whether a job that a rate has scheduled waits for a time that is later than all its rates want it.
local function late(r, entry, now)
    if r[STATE] ~= "s" or not entry.every then
        return false
    end
    local start = now + 1
    for _, each in ipairs(rules_of(r[RULES]).rates) do
        local _, at = allowance(each, now)
        start = math.max(start, at)
    end
    return r[RUN_AT] > start
end

-- Removes holds without a job, blocks queued holders of paused lanes, and lets heads of rates that wait for too long be examined again: of
-- 500 holders, the queued ones first. Those that run are put below them. Returns what one of the others says of the slot, and whether it is
-- to be looked at again.
local function mend_holds(slot, paused, now)
    local known, before, lowered, key = nil, changed + moved, 0, P .. "hold:" .. slot
    local found = call("ZREVRANGE", key, 0, 499, "WITHSCORES")
    for n = 1, #found, 2 do
        local member = found[n]
        local id = string.sub(member, SEQ_LENGTH + 1)
        local r = read_one(id)
        local entry = entry_of(r, slot)
        left = left - 1
        if not holds(r, entry) or r[SEQ] .. id ~= member then
            call("ZREM", key, member)
            cards[slot] = nil
            changed = changed + 1
        elseif r[STATE] == "q" and paused_by(r, paused) then
            place(r, id, "b", PAUSED .. paused_by(r, paused), r[ORD])
        elseif late(r, entry, now) then
            place(r, id, "b", "", r[ORD])
        else
            known = entry
            if r[STATE] == "r" and tonumber(found[n + 1]) >= 0 then
                call("ZADD", key, RUNS, member)
                lowered = lowered + 1
            end
        end
    end
    return known, #found == 1000 and changed + moved + lowered > before
end

-- Blocks queued holders of a limit that was lowered, the lowest priority first: 500 at most. Returns whether there are more.
local function block_over(entry, now)
    local over = entry.every and 0 or -room(entry, now)
    for _ = 1, math.min(over, 500) do
        local member, r = last_queued(entry.slot, 0)
        if not r then
            return false
        end
        place(r, string.sub(member, SEQ_LENGTH + 1), "b", entry.slot, r[ORD])
    end
    return over > 500
end

-- Looks at one line or slot. Returns whether it is to be looked at again.
local function look_at(name, paused, now)
    left = left - 1
    local waited, again, entry = call("EXISTS", P .. "wait:" .. name) == 1, false, nil
    if string.find(name, "\n", 1, true) then
        entry, again = mend_holds(name, paused, now)
        if entry then
            again = block_over(entry, now) or again
        end
    elseif string.sub(name, 1, #PAUSED) == PAUSED and waited and not paused[string.sub(name, #PAUSED + 1)] then
        touched[name] = true
    end
    if waited and string.find(name, "\n", 1, true) then
        touched[name] = true
    elseif not waited and call("EXISTS", P .. "hold:" .. name) == 0 then
        call("ZREM", P .. "lines", name)
    end
    return again
end

-- Goes on with a walk after `last` ("": from its beginning), over all lines or those of a limit. Returns the last name, or nil when
-- it is through.
local function walk(last, limit, now)
    local from = last ~= "" and "(" .. last or limit and "[" .. limit .. "\n" or "-"
    local names = call("ZRANGEBYLEX", P .. "lines", from, limit and "(" .. limit .. "\11" or "+", "LIMIT", 0, left)
    local paused = {}
    for _, name in ipairs(call("HKEYS", P .. "rule:pause")) do
        paused[name] = true
    end
    for _, name in ipairs(names) do
        if left <= 0 or look_at(name, paused, now) then
            return last
        end
        last = name
    end
    return left <= 0 and #names > 0 and last or nil
end

-- Goes on with the walks that are under way.
local function walk_on(now)
    local found = call("HGETALL", P .. "walks")
    for n = 1, #found, 2 do
        if left > 0 then
            local last = walk(found[n + 1], string.match(found[n], "^limit\n(.*)$"), now)
            if last then
                call("HSET", P .. "walks", found[n], last)
            else
                call("HDEL", P .. "walks", found[n])
            end
        end
    end
end

-- Goes on with the first count of queues that have got a bound: some 500 jobs of each, by id.
local function count_on()
    local found = call("HGETALL", P .. "counting")
    for n = 1, #found, 2 do
        local queue, waiting = found[n], 0
        local ids = call("ZRANGEBYLEX", P .. "ids", "(" .. found[n + 1], "+", "LIMIT", 0, 500)
        for _, r in pairs(read(ids)) do
            waiting = waiting + (WAITING[r[STATE]] and split(r[LANE]) == queue and 1 or 0)
        end
        call("HINCRBY", P .. "depth", queue, waiting)
        reached = {}
        if #ids < 500 then
            call("HDEL", P .. "counting", queue)
        else
            call("HSET", P .. "counting", queue, ids[#ids])
        end
    end
end

-- Forgets meters of rates and tenants that say no more than none would.
local function forget_meters(now)
    local page = call("HSCAN", P .. "meter", call("GET", P .. "swept") or "0", "COUNT", 100)
    for n = 1, #page[2], 2 do
        local name, value = page[2][n], tonumber(page[2][n + 1])
        local queue = string.match(name, "^fair\n([^\n]*)\n")
        local front = queue and tonumber(call("HGET", P .. "meter", "fair\n" .. queue) or 0)
        if front and value + FORGOTTEN < front or string.sub(name, -5) == "\nrate" and value < now * 1000 then
            call("HDEL", P .. "meter", name)
        end
    end
    call("SET", P .. "swept", page[1])
    for _, slot in ipairs(call("HKEYS", P .. "pushed")) do
        if tonumber(string.match(call("HGET", P .. "pushed", slot), "%d+")) + FORGOTTEN < now then
            call("HDEL", P .. "pushed", slot)
        end
    end
end

-- Looks at the next lines, and at the next jobs that wait for parents: some of them may have been missed.
local function mend(now)
    local last = walk(call("GET", P .. "walked") or "", nil, now)
    local waiting, children = call("ZCARD", P .. "wait:" .. PARENTS), tonumber(call("GET", P .. "looked") or 0)
    local examine = examiner(now)
    for _, member in ipairs(left > 0 and call("ZRANGE", P .. "wait:" .. PARENTS, children, children + left - 1) or {}) do
        examine(member, PARENTS)
        left, children = left - 1, children + 1
    end
    call("SET", P .. "walked", last or "")
    call("SET", P .. "looked", children < waiting and children or 0)
end

-- Goes on with what changed rules began, and mends what was missed unless `only` they are wanted. Returns how many jobs and holds
-- were changed, whether workers should be notified, and whether there is more to go on with.
made.go_on = function(now, most, only)
    left = math.min(left, most)
    walk_on(now)
    count_on()
    if not only then
        mend(now)
        forget_meters(now)
    end
    left = math.max(left, 1)
    local more = settle(now)
    return changed + moved, more, call("EXISTS", P .. "walks", P .. "counting")
end
