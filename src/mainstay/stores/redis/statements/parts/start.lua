-- What a claim does about rules: lanes that are left out, rates that are charged, breakers that are tried.

-- Returns what leaves lanes out: the names of pauses, and the open breakers by type.
local function closed()
    local pauses, breakers = {}, {}
    for _, name in ipairs(call("HKEYS", P .. "rule:pause")) do
        pauses[name] = true
    end
    local found = call("HGETALL", P .. "rule:breaker")
    for n = 1, #found, 2 do
        breakers[found[n]] = cjson.decode(found[n + 1])
    end
    return pauses, breakers
end

-- Returns an iterator over the lanes of each queue as `next_lanes` does, without those that are paused or whose breaker is open.
-- Of a type that may be tried again, one job is taken: its lane comes alone, before the others of its queue, and its type third.
-- `tried` has the types of which one was taken; `wake` gets the time of the next trial.
local function open_lanes(next_lanes, now, tried, wake)
    local pauses, breakers = closed()
    local trials, rest, named = {}, nil, nil

    local function is_open(lane)
        local queue, type = split(lane)
        if pauses.all or pauses["queue:" .. queue] or pauses["type:" .. type] then
            return false
        end
        local breaker = breakers[type] and breakers[type].value
        if breaker and breaker["until"] <= now and not tried[type] then
            trials[#trials + 1] = { lane, type }
        elseif breaker then
            local again = tried[type] and now + (breaker.rest or 30000) or breaker["until"]
            wake.at = math.min(wake.at or math.huge, again)
        end
        return not breaker
    end

    local function filter(lanes)
        rest = {}
        for _, lane in ipairs(lanes) do
            if is_open(lane) then
                rest[#rest + 1] = lane
            end
        end
    end

    return function()
        while true do
            local trial = table.remove(trials)
            if trial and not tried[trial[2]] then
                return { trial[1] }, named, trial[2]
            elseif not trial and rest then
                local found = rest
                rest = nil
                if #found > 0 then
                    return found, named
                end
            elseif not trial then
                local lanes
                lanes, named = next_lanes()
                if not lanes then
                    return nil
                end
                filter(lanes)
            end
        end
    end
end

-- Lets no other job of a type be tried until its breaker's rest is over again.
local function keep_closed(type, now)
    local text = call("HGET", P .. "rule:breaker", type)
    if text then
        local rule = cjson.decode(text)
        rule.value["until"] = now + (rule.value.rest or 30000)
        rule.value.forced = nil -- one that an operator has opened is open like others from now on: the outcome decides
        call("HSET", P .. "rule:breaker", type, cjson.encode(rule))
    end
end

-- Charges the rates of a job that is about to start. Returns true; or false where one of them permits no start now: the job is
-- scheduled for the time at which all do, and costs no attempt.
local function charge(r, id, carried, now)
    local start, denied = now, false
    for _, entry in ipairs(carried.rates) do
        local free, at = allowance(entry, now)
        if free == 0 then
            start, denied = math.max(start, at, now + 1), true
        end
    end
    if denied then
        released[id] = nil
        place(r, id, "s", false, r[ORD], start)
        return false
    end
    for _, entry in ipairs(carried.rates) do
        local every, _, due = meter(entry, now)
        if every then
            call("HSET", P .. "meter", entry.slot, string.format("%.0f", math.max(due, now * 1000) + every))
        end
    end
    return true
end

-- Starts a queued job with rules that was taken from its lane. Returns false where it may not start now.
local function start(r, id, now)
    if r[RULES] and not r[START_BY] and simple(r[RULES]) then
        return true -- limits matter to queued and running jobs alike
    end
    local carried = rules_of(r[RULES] or "{}")
    if not charge(r, id, carried, now) then
        return false
    end
    for _, entry in ipairs(carried.rates) do
        later("ZREM", P .. "hold:" .. entry.slot, r[SEQ] .. id)
        unsent, cards[entry.slot], touched[entry.slot] = true, nil, entry
    end
    if r[START_BY] then
        later("ZREM", P .. "start_by", id)
    end
    if carried.fair then
        local front = "fair\n" .. carried.fair[1]
        local before = tonumber(call("HGET", P .. "meter", front) or r[ORD])
        call("HSET", P .. "meter", front, string.format("%.0f", math.max(before, r[ORD])))
    end
    return true
end

-- Notes of the types of which a job was tried whether it has started.
local function note_trials(tried, now)
    for type, id in pairs(tried) do
        local r = read_one(id)
        if r and r[STATE] == "r" then
            keep_closed(type, now)
        else
            tried[type] = nil
        end
    end
end

-- Takes up to `limit` jobs as `take` does, where rules may matter: some lanes are left out, rates deny some jobs, and what starts
-- may let others in. `begun` has how many were taken and denied if a first take was plain, and how many of these from lines if it looked there.
-- A patient claim takes first, and goes on with lines only if that was not enough; another examines first. Returns how many jobs were
-- taken, how often, and when the next may be.
local function take_open(worker, wants, limit, now, reply, patient, begun)
    local wake, takes, taken, looked = {}, begun and 1 or 0, begun and begun.taken or 0, false

    local function take_some()
        local tried = {}
        local some, denied = take(worker, open_lanes((lanes_wanted(wants)), now, tried, wake), limit - taken, now, reply, tried)
        note_trials(tried, now)
        takes, taken = takes + 1, taken + some
        return denied > 0
    end

    local again = not begun or begun.denied > 0
    local in_line = patient and begun and taken < limit
    while in_line do
        local marked, some, more = look_at_marked(now), take_lines(worker, wants, limit - taken, now, reply)
        takes, taken, again, looked = takes + 1, taken + some, again or marked or more, not unsettled()
        in_line = some > 0 and taken < limit and not looked
    end
    if begun and begun.ahead then
        takes = begun.ahead > 0 and takes + 1 or takes
        again = examine_rest(now) or again
    end
    if patient and not begun then
        again = take_some()
    end
    while takes <= 8 and not (patient and taken >= limit) do
        if not looked or unkept() then
            again, looked = look(now) or again, true
        end
        if taken >= limit or not again then
            break
        end
        again = take_some()
    end
    keep_touched()
    local more = looked and unsettled()
    if next(released) or more then -- for other workers: they may know types that this one lacks
        notify("jobs")
    end
    return taken, takes, more and now or wake.at
end

made.start, made.take_open = start, take_open
