-- What jobs with rules need (docs/decisions/0028), first of all their indexes.
--   wait:<waits>  blocked jobs, by their place              hold:<slot>    holders by their place; below 0 if known not to be queued
--   lines         names of lines and slots in use           start_by       waiting jobs, by the time by which they must start
--   after         c<child>\0<parent> and p<parent>\0<child> of jobs that wait for parents
--   woken         lines to be looked at                     ending         parents that have ended, with the last child looked at
--   meter         of rates and fair queues, by name         pushed         until when a rate permits no start, and since when
--   rule:<kind>   rules by name                             depth          how many jobs wait in each bounded queue
-- The key `flow` exists once there was a rule, or a job with such a record: until then the plain variants of hot scripts are enough.
-- `lines` may name one that is empty, but lacks none. The hash `counting` has how far the first count of a bounded queue is.
local RUNS = -1 -- the score of a holder that is not queued
local MANY = 1000000 -- the room of a slot without a limit
local WAITING = { q = true, s = true, b = true }

local touched, ended = {}, {} -- lines to look at, with what is known of their limits, and jobs that have ended while others wait for them
local unsent, cards = false, {} -- whether holders have changed that are not written yet, and how many hold a slot, where known

-- Returns the decoded rules in a text, with `limits` and `rates` as lists of tables with their slots. Most jobs have one limit and no
-- other rule: a pattern takes half the time, and one table is all of it, the limit and the list. It has the text, and itself as `only`.
local ONE_LIMIT = '^{"limits":%[%["([^"\\]+)","([^"\\]*)",(%d+)%]%]}$'
local known, NONE = {}, {}
local function one_limit(text)
    local name, key, running = string.match(text, ONE_LIMIT)
    if name then
        local found = {
            false, slot = name .. "\n" .. key, name = name, running = tonumber(running), most = false,
            text = text, rates = NONE, limits = false, only = false,
        }
        found[1], found.limits, found.only = found, found, found
        known[text] = found
        return found
    end
end

local function rules_of(text)
    local found = known[text] or one_limit(text)
    if found then
        return found
    end
    found = cjson.decode(text)
    local limits, rates = {}, {}
    for n, each in ipairs(found.limits or {}) do
        limits[n] = { slot = each[1] .. "\n" .. each[2], name = each[1], running = each[3] }
    end
    for n, each in ipairs(found.rates or {}) do
        rates[n] = { slot = each[1] .. "\n" .. each[2] .. "\nrate", name = each[1], every = each[3], burst = each[4] }
    end
    found.limits, found.rates = limits, rates
    known[text] = found
    return found
end

-- Returns the limit of a job with these rules, if it has no other rule.
local function simple(text)
    local found = known[text]
    if found then
        return found.only
    end
    return one_limit(text)
end

local function hold(command, entries, place, member)
    for n = 1, #entries do
        local entry = entries[n]
        local slot = entry.slot
        change(command, P .. "hold:" .. slot, place, member)
        unsent, cards[slot] = true, nil
        if command == "ZADD" then
            later("ZADD", P .. "lines", 0, slot)
        else
            touched[slot] = entry
        end
    end
end

-- Removes a child from the index of parents.
local function unlink(id)
    for _, member in ipairs(call("ZRANGEBYLEX", P .. "after", "[c" .. id .. "\0", "(c" .. id .. "\1")) do
        later("ZREM", P .. "after", member)
        later("ZREM", P .. "after", "p" .. string.sub(member, #id + 3) .. "\0" .. id)
    end
end

-- Adds a job to the indexes that only jobs with rules have, or removes it from them.
local function mark(command, r, id)
    local state, adds = r[STATE], command == "ZADD"
    local member = not ENDED[state] and r[SEQ] .. id
    if state == "b" and r[WAITS] then
        change(command, P .. "wait:" .. r[WAITS], score(r), member)
        if adds then
            later("ZADD", P .. "lines", 0, r[WAITS])
        end
    end
    if r[START_BY] and WAITING[state] and not r[STARTED_AT] then
        change(command, P .. "start_by", r[START_BY], id)
    end
    local carried = r[RULES] and rules_of(r[RULES])
    if carried and (state == "q" or state == "r") then
        hold(command, carried.limits, state == "q" and score(r) or RUNS, member)
    end
    if carried and (state == "q" or (state == "s" and r[RATED])) then
        hold(command, carried.rates, state == "q" and score(r) or RUNS, member)
    end
    if adds and ENDED[state] then
        r[WAITS], r[RATED] = false, false
        ended[id] = r[AWAITED] or nil
        if carried and carried.after then
            unlink(id)
        end
    end
end

-- Counts a job that begins or no longer waits in a bounded queue. While the jobs that were there before are counted, in the
-- order of their ids, those that this has not reached are left out.
local reached = {}
local function count_one(r, id, by)
    local queue = split(r[LANE])
    if reached[queue] == nil then
        local depth = call("HEXISTS", P .. "depth", queue) == 1
        reached[queue] = depth and (call("HGET", P .. "counting", queue) or "\255")
    end
    if reached[queue] and id <= reached[queue] then
        call("HINCRBY", P .. "depth", queue, by)
    end
end

-- Returns what holds of a rule: what code declares, and over it what operators have set; an empty table for no rule.
local effective = {}
local function rule(kind, name)
    local key = kind .. "\n" .. name
    if not effective[key] then
        local text = call("HGET", P .. "rule:" .. kind, name)
        local value, found = text and cjson.decode(text).value or {}, {}
        for _, part in ipairs({ value.declared or {}, value.set or {} }) do
            for field, each in pairs(part) do
                found[field] = each
            end
        end
        effective[key] = found
    end
    return effective[key]
end

-- Returns a value of a limit: as a rule has it, else as the job carries it; nil for no limit.
local function value_of(entry, field)
    local found = rule("limit", entry.name)[field]
    if found == nil and string.sub(entry.name, 1, 6) == "queue:" then
        found = rule("queue", string.sub(entry.name, 7))[field]
    end
    if found == nil then
        found = entry[field]
    end
    return found ~= cjson.null and found or nil
end

-- Sets a meter and a push right that are further ahead than they can be: the clock was set back, or the rate was another. See `believed`
-- in core/admission.py.
local function believed(slot, now, every, burst, due, pushed, since)
    if due > now * 1000 + burst * every then
        due = now * 1000 + burst * every
        call("HSET", P .. "meter", slot, string.format("%.0f", due))
    end
    if since > now then
        pushed = pushed - since + now
        call("HSET", P .. "pushed", slot, string.format("%.0f %.0f", pushed, now))
    end
    return due, pushed
end

-- Returns every, burst and the meter of a rate: when the next start would be due at an even pace, in microseconds (GCRA).
local function meter(entry, now)
    local every, burst = value_of(entry, "every"), value_of(entry, "burst") or 1
    if not every then
        return nil, burst, 0
    end
    local due = tonumber(call("HGET", P .. "meter", entry.slot) or 0)
    local pushed, since = string.match(call("HGET", P .. "pushed", entry.slot) or "0 0", "(%d+) (%d+)")
    due, pushed = believed(entry.slot, now, every, burst, due, tonumber(pushed), tonumber(since))
    return every, burst, pushed > 0 and math.max(due, pushed * 1000 + (burst - 1) * every) or due
end

-- Returns how many starts a rate permits now, and the instant from which on it permits the next; see core/admission.py.
local function allowance(entry, now)
    local every, burst, due = meter(entry, now)
    if not every then
        return MANY, now
    end
    local late = math.max(due, now * 1000) - now * 1000
    local free = math.max(0, burst - math.ceil(late / every))
    return free, math.max(now, math.ceil((due - (burst - 1) * every) / 1000))
end

-- Returns how many jobs hold a slot.
local function holders(slot)
    if cards[slot] then
        return cards[slot]
    end
    if unsent then
        flush()
        unsent = false
    end
    cards[slot] = call("ZCARD", P .. "hold:" .. slot)
    return cards[slot]
end

-- Returns the queued holder of a slot with the last place if that is not before `least`, and its record; else nil. A claim does not
-- change the holds of jobs that it starts: those found here are put below the queued ones.
local function last_queued(slot, least)
    local key = P .. "hold:" .. slot
    while true do
        local found = call("ZREVRANGE", key, 0, 0, "WITHSCORES")
        if tonumber(found[2] or RUNS) < least then
            return nil
        end
        local r = read_one(string.sub(found[1], SEQ_LENGTH + 1))
        if not r or r[STATE] ~= "r" then
            return found[1], r
        end
        call("ZADD", key, RUNS, found[1])
    end
end

-- Returns how many more jobs may hold a slot.
local function room(entry, now)
    if entry.every then
        local free = allowance(entry, now)
        return free == MANY and MANY or math.max(1, free) - holders(entry.slot)
    end
    if not entry.most then
        entry.most = value_of(entry, "running") or MANY
    end
    return entry.most < MANY and entry.most - holders(entry.slot) or MANY
end

-- Gives a record the fields that records of plain jobs lack.
local function extend(r)
    if r[RULES] == nil then
        call("SET", P .. "flow", 1)
        r[RULES], r[WAITS], r[START_BY], r[RATED], r[AWAITED] = false, false, false, false, false
    end
    return r
end

made.touched, made.ended, made.rules_of, made.mark, made.unlink = touched, ended, rules_of, mark, unlink
made.count, made.rule, made.extend = count_one, rule, extend
made.touch = function(name)
    touched[name] = touched[name] or true
end
