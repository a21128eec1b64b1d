-- Decides which blocked jobs may be queued: as core/admission.py does for the SQL engines. Whatever could have changed the answer
-- touches a line (parts/rules.lua); every script that may have done so settles at its end. At most `left` jobs are examined in
-- one call. What is left is in the set `woken`, in the hash `ending` or in the lines of jobs to be examined: the next claim goes on.
local STRIDE_FAIR = 1000 -- between two places that a tenant of weight 1 gets in a fair queue
local PARENTS, PAUSED = "|parents", "|paused "
local STATES = { c = "completed", x = "cancelled", d = "dead" }
local left = 500
local moved = 0 -- jobs that were given another state or line
local released, news = {}, false -- the ids of jobs that were queued in this call; whether some were queued or scheduled

-- Gives a job its state, what it waits for, its place and its time, with the next flush. Only jobs with rules come here.
local function place_later(r, id, state, waits, ord, run_at)
    moved = moved + 1
    index("ZREM", r, id)
    r[STATE], r[WAITS], r[ORD], r[RUN_AT], r[RATED] = state, waits or false, ord, run_at or false, state == "s"
    index("ZADD", r, id)
    write(id, r)
end

local function place(...)
    place_later(...)
    flush()
end

-- Examines one job after the other.
local function examiner(now)
    local paused

    -- Returns the place of a new job: by its tenant's share, and earlier by its priority where waiting makes up for priority.
    local function first_place(r, carried)
        local at = r[ORD]
        if carried.fair then
            local queue, tenant, weight = unpack(carried.fair)
            local front, mine = "fair\n" .. queue, "fair\n" .. queue .. "\n" .. tenant
            local found = call("HMGET", P .. "meter", front, mine)
            local step = STRIDE_FAIR / weight
            local whole = math.floor(step + 0.5)
            whole = (whole - step == 0.5 and whole % 2 == 1) and whole - 1 or whole -- as Python rounds
            front = tonumber(found[1] or at)
            at = found[2] and math.max(front, tonumber(found[2]) + math.max(1, whole)) or front
            call("HSET", P .. "meter", mine, string.format("%.0f", at))
        end
        if carried.aged then
            at = at - carried.aged[1] * carried.aged[2]
        end
        return at
    end

    -- Returns for what a child waits; or nil, the state in which it ends and why.
    local function of_parents(id, wish)
        local members, ids = call("ZRANGEBYLEX", P .. "after", "[c" .. id .. "\0", "(c" .. id .. "\1"), {}
        for n, member in ipairs(members) do
            ids[n] = string.sub(member, #id + 3)
        end
        left = left - math.floor(#ids / 10) -- many parents are as much work as many jobs
        local found, waits = read(ids), nil
        for _, parent in ipairs(ids) do
            local state = found[parent] and found[parent][STATE]
            if state and not ENDED[state] then
                waits = PARENTS
            elseif state ~= "c" and wish ~= "run" then
                return nil, wish == "dead" and "d" or "x", "its parent " .. parent .. " is " .. (STATES[state] or "deleted")
            end
        end
        return waits
    end

    local function of_pauses(r)
        if not paused then
            paused = {}
            for _, name in ipairs(call("HKEYS", P .. "rule:pause")) do
                paused[name] = true
            end
        end
        if next(paused) then
            local queue, type = split(r[LANE])
            for _, name in ipairs({ "all", "queue:" .. queue, "type:" .. type }) do
                if paused[name] then
                    return PAUSED .. name
                end
            end
        end
    end

    -- Returns the queued holder of a slot that would give way to this job, or nil.
    local function lowest(slot, r)
        flush()
        return (last_queued(slot, (math.floor(score(r) / ORDS) + 1) * ORDS))
    end

    -- Blocks a queued holder again, at the slot that it gives to another job.
    local function give_way(member, slot)
        local id = string.sub(member, SEQ_LENGTH + 1)
        local holder = read_one(id)
        if holder and holder[STATE] == "q" then
            released[id] = nil
            place(holder, id, "b", slot, holder[ORD])
        else
            call("ZREM", P .. "hold:" .. slot, member) -- keys were removed by hand
            cards[slot] = nil
        end
    end

    -- Returns the first slot of a limit without room; a queued holder of a lower priority makes room.
    local function of_limits(r, carried)
        local full = {}
        for _, entry in ipairs(carried.limits) do
            if room(entry, now) <= 0 then
                full[#full + 1] = entry
            end
        end
        for _, entry in ipairs(full) do
            if room(entry, now) < 0 or not lowest(entry.slot, r) then
                return full[1].slot
            end
        end
        for _, entry in ipairs(full) do
            if room(entry, now) <= 0 then -- a holder of two of them gives way once
                give_way(lowest(entry.slot, r), entry.slot)
            end
        end
    end

    -- Returns the slot of a rate without room; or nil, and the time from which on all rates permit a start.
    local function of_rates(carried)
        local start = now
        for _, entry in ipairs(carried.rates) do
            local free, at = allowance(entry, now)
            if free ~= MANY and holders(entry.slot) >= math.max(1, free) then
                return entry.slot
            end
            start = free == 0 and math.max(start, at) or start
        end
        return nil, start
    end

    local function end_child(r, id, state, reason)
        finish(r, id, state, now, state == "x" and r[KEEP] and now + r[KEEP], reason)
        if state == "d" then
            later("HSET", P .. "fingerprint", id, reason_print(r[LANE], (string.gsub(reason, "^its parent %S+", "its parent <id>"))))
        end
        write(id, r)
        flush()
    end

    -- Lets another job take the place for which this one was examined, and which it does not take.
    local function pass_on(from)
        if string.find(from, "\n", 1, true) then
            touched[from] = touched[from] or true
        end
    end

    -- Keeps a job blocked: it goes back to the line from which it was taken, or to another.
    local function keep(r, id, waits, ord, from)
        if waits ~= r[WAITS] or ord ~= r[ORD] then
            place_later(r, id, "b", waits, ord)
            pass_on(from)
        else
            later("ZADD", P .. "wait:" .. from, score(r), r[SEQ] .. id)
        end
    end

    local function admit_one(r, id, carried, start, ord, from)
        if carried.after then
            unlink(id)
        end
        place_later(r, id, start > now and "s" or "q", false, ord, start > now and start)
        news = true
        released[id] = start <= now or nil
        if start > now then -- it holds no limit
            pass_on(from)
        end
        if from == "" then -- it may have been woken for others too
            for _, entries in ipairs({ carried.limits, carried.rates }) do
                for _, entry in ipairs(entries) do
                    touched[entry.slot] = entry
                end
            end
        end
    end

    -- Queues a job whose only rule is the limit of its line, if there is room: nearly all are such. It is counted here, so that the
    -- writes for many jobs are sent together. Returns whether it was.
    local function admit_simply(r, id, member, from)
        local entry = r[RULES] and rules_of(r[RULES]).only
        if not entry or entry.slot ~= from or of_pauses(r) or room(entry, now) <= 0 then
            return false
        end
        local at = score(r)
        r[STATE], r[WAITS], r[RUN_AT] = "q", false, false
        later("ZADD", P .. "hold:" .. from, at, member)
        later("ZADD", queue_of(r[LANE]), at, member)
        write(id, r)
        cards[from], unsent = cards[from] and cards[from] + 1, unsent or not cards[from]
        moved, news, released[id] = moved + 1, true, true
        return true
    end

    -- Examines a job in a line, with its record if it was read.
    local function examine(member, from, r)
        local id = string.sub(member, SEQ_LENGTH + 1)
        r = r or read_one(id)
        if not r or r[STATE] ~= "b" or r[WAITS] ~= from or r[SEQ] .. id ~= member then
            call("ZREM", P .. "wait:" .. from, member) -- it has moved meanwhile, or keys were removed by hand
            return
        end
        if admit_simply(r, id, member, from) then
            return
        end
        local carried, waits, state, reason, start = rules_of(r[RULES] or "{}"), nil, nil, nil, nil
        local ord = from == "+" and first_place(r, carried) or r[ORD]
        if carried.after then
            waits, state, reason = of_parents(id, carried.after)
        end
        if state then
            pass_on(from)
            return end_child(r, id, state, reason)
        end
        waits = waits or of_pauses(r) or of_limits(r, carried)
        if not waits then
            waits, start = of_rates(carried)
        end
        if waits then
            return keep(r, id, waits, ord, from)
        end
        admit_one(r, id, carried, start, ord, from)
    end

    return examine, lowest
end

-- Returns how many jobs at the head of a line may pass: as many as a slot has room for, or one that takes another's place.
local function passing(name, now, lowest, entry)
    if not string.find(name, "\n", 1, true) then
        return left
    end
    local free = type(entry) == "table" and room(entry, now) or 0
    if free > 0 then
        return free -- nearly always: a job has left the slot
    end
    local head = call("ZRANGE", P .. "wait:" .. name, 0, 0)[1]
    local r = head and read_one(string.sub(head, SEQ_LENGTH + 1))
    if not r then
        return head and 1 or 0 -- its keys were removed by hand
    end
    local carried = rules_of(r[RULES] or "{}")
    for _, entries in ipairs({ carried.limits, carried.rates }) do
        for _, entry in ipairs(entries) do
            if entry.slot == name then
                local free = room(entry, now)
                return free > 0 and free or (free == 0 and not entry.every and lowest(name, r)) and 1 or 0
            end
        end
    end
    return 1
end

-- Moves the first jobs of the lines that were touched to the candidates; those lines that there is no time for stay touched.
local function heads(found, now, lowest)
    local names = {}
    for name in pairs(touched) do
        names[#names + 1] = name
    end
    for _, name in ipairs(names) do
        if #found >= left then
            return
        end
        local entry = touched[name]
        touched[name] = nil
        local most = passing(name, now, lowest, entry)
        local some = math.min(most, left - #found)
        local line = some > 0 and call("ZPOPMIN", P .. "wait:" .. name, some) or {}
        for n = 1, #line, 2 do
            found[#found + 1] = { tonumber(line[n + 1]), line[n], name }
        end
        if some > 0 and #line == 2 * some and (some < most or most == left) then
            touched[name] = entry -- there may be more
        elseif #line == 0 and some > 0 and call("EXISTS", P .. "hold:" .. name) == 0 then
            call("ZREM", P .. "lines", name)
        end
    end
end

-- Returns whether a child waits on though this parent has ended: it has completed, and another one has not ended. Looks from the last on:
-- jobs that came later end later.
local function waits_on(child, parent)
    local r = read_one(parent)
    local last, members = r and r[STATE] == "c" and "(c" .. child .. "\1" or nil, nil
    while last do
        members = call("ZREVRANGEBYLEX", P .. "after", last, "[c" .. child .. "\0", "LIMIT", 0, 10)
        for n, member in ipairs(members) do
            last, members[n] = "(" .. member, string.sub(member, #child + 3)
        end
        for _, other in pairs(read(members)) do
            if not ENDED[other[STATE]] then
                return true
            end
        end
        last = #members == 10 and last
    end
    return false
end

-- Adds the children of one job that has ended. Returns whether it was all of them.
local function children_of(parent, found)
    local start, last = "p" .. parent .. "\0", call("HGET", P .. "ending", parent)
    while #found < left do
        local most = left - #found
        local members = call("ZRANGEBYLEX", P .. "after", "(" .. start .. last, "(p" .. parent .. "\1", "LIMIT", 0, most)
        for _, member in ipairs(members) do
            last = string.sub(member, #start + 1)
            local r = read_one(last)
            if r and r[STATE] == "b" and r[WAITS] == PARENTS and not waits_on(last, parent) then
                found[#found + 1] = { score(r), r[SEQ] .. last, PARENTS }
            else
                left = left - 1
            end
        end
        if #members < most then
            call("HDEL", P .. "ending", parent)
            return
        end
    end
    call("HSET", P .. "ending", parent, last)
end

-- Adds the children of jobs that have ended.
local function children(found)
    for parent in pairs(ended) do
        call("HSET", P .. "ending", parent, "")
        ended[parent] = nil
    end
    for _, parent in ipairs(call("HKEYS", P .. "ending")) do
        if #found >= left then
            return
        end
        children_of(parent, found)
    end
end

local function by_place(one, other)
    return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2])
end

-- Returns whether jobs remain to be examined.
local function unsettled()
    return call("EXISTS", P .. "wait:", P .. "wait:+", P .. "woken", P .. "ending") > 0
end

-- Keeps for the next call what there was no time for.
local function keep_touched()
    touched[""], touched["+"] = nil, nil
    for name, entry in pairs(touched) do
        later("SADD", P .. "woken", type(entry) == "table" and entry.text or name)
        touched[name] = nil
    end
    for parent in pairs(ended) do
        later("HSET", P .. "ending", parent, "")
        ended[parent] = nil
    end
    flush()
end

-- Touches what earlier calls have kept: names of lines, or rules with the limit of a line, which tell how many jobs may pass.
local function touch_kept()
    for _, kept in ipairs(left > 0 and call("SPOP", P .. "woken", left) or {}) do
        local entry = string.sub(kept, 1, 1) == "{" and simple(kept)
        if entry then
            touched[entry.slot] = entry
        else
            touched[kept] = touched[kept] or true
        end
    end
end

-- Returns whether this call has touched what it has neither examined nor kept.
local function unkept()
    return next(touched) ~= nil or next(ended) ~= nil
end

-- Examines what was touched in this call, and unless it is the `only` thing to do, what was left over by another: `most` jobs, or 500 if
-- that is more. Returns whether jobs were queued or scheduled.
local function look(now, most, only)
    flush()
    left = math.max(left, most or 0)
    news = false
    if not only then
        touched[""], touched["+"] = true, true
        touch_kept()
    end
    local examine, lowest = examiner(now)
    while left > 0 do
        local found = {}
        children(found)
        heads(found, now, lowest)
        if #found == 0 then
            break
        end
        table.sort(found, by_place)
        local ids = {}
        for n, each in ipairs(found) do
            ids[n] = string.sub(each[2], SEQ_LENGTH + 1)
        end
        local records = read(ids)
        for n, each in ipairs(found) do
            left = left - 1
            examine(each[2], each[3], records[ids[n]])
        end
        flush()
    end
    keep_touched()
    return news
end

-- Does the same; returns whether workers should be notified: there are such jobs, or some are left to be examined.
local function settle(now, most)
    return look(now, most) or unsettled()
end

made.settle, made.released, made.keep_touched = settle, released, keep_touched
