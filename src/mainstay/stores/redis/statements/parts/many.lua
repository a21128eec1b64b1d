-- What a worker with many lanes wants: how many lanes, how many texts, a text of all queues in their order, then for each
-- group of queues that want the same types a text of the queues ("": all) and one of the types. In a text, the byte 255,
-- which no name has, is around each name. The set `lanes` tells which lanes have jobs.
local LARGE = 1000 -- lanes with jobs, from which on the wanted ones are probed queue by queue: the first have enough
local TABLE = 32 -- look-ups from which on a table is faster than searches in a text: it takes some 70 us for 600 names

local function names_in(text)
    return string.gmatch(string.sub(text, 2), "([^\255]*)\255")
end

-- Returns a function that returns where a name is in a text: larger the later it comes, nil where it is not.
local function finder(text, lookups)
    if lookups <= TABLE then
        return function(name)
            return string.find(text, "\255" .. name .. "\255", 1, true)
        end
    end
    local places, count = {}, 0
    for name in names_in(text) do
        count = count + 1
        places[name] = count
    end
    return function(name)
        return places[name]
    end
end

-- Returns the groups in the texts from `first` to `last`: queues (nil: all), types, and how to find a name in both.
local function groups_in(first, last, lookups)
    local groups = {}
    for at = first, last, 2 do
        local queues, types = ARGV[at] ~= "" and ARGV[at], ARGV[at + 1]
        groups[#groups + 1] = {
            types = types, has_type = finder(types, lookups),
            has_queue = queues and finder(queues, lookups) or function() return true end,
        }
    end
    return groups
end

-- Returns an iterator over the wanted lanes that have jobs, queue by queue.
local function each_filled(all, groups, lookups)
    local place_of, lanes, places, n = finder(all, lookups), {}, {}, 0
    for _, lane in ipairs(call("SMEMBERS", P .. "lanes")) do
        local queue, type = split(lane)
        local place = place_of(queue)
        for _, group in ipairs(place and groups or {}) do
            if group.has_queue(queue) and group.has_type(type) then
                if not lanes[place] then
                    lanes[place] = {}
                    places[#places + 1] = place
                end
                table.insert(lanes[place], lane)
            end
        end
    end
    table.sort(places)
    return function()
        n = n + 1
        return lanes[places[n]], true
    end
end

-- Returns an iterator over all wanted lanes, queue by queue.
local function each_wanted(all, groups)
    local next_queue = names_in(all)
    return function()
        local queue, lanes = next_queue(), {}
        for _, group in ipairs(queue and groups or {}) do
            if group.has_queue(queue) then
                for type in names_in(group.types) do
                    lanes[#lanes + 1] = #queue .. ":" .. queue .. ":" .. type
                end
            end
        end
        return queue and lanes, false
    end
end

local function each_queue(at, last)
    local wanted, filled = tonumber(ARGV[at]), call("SCARD", P .. "lanes")
    if filled == 0 then
        return function() end
    end
    local groups = groups_in(at + 3, last, filled)
    if filled > math.min(wanted, LARGE) then
        return each_wanted(ARGV[at + 2], groups)
    end
    return each_filled(ARGV[at + 2], groups, filled)
end

-- Returns an iterator over the lanes of each queue, with whether the set names them; and where in ARGV the next value is.
-- The set is read when the first lanes are taken: until then a claim may queue jobs.
local function lanes_wanted(at)
    local last, next_lanes = at + 1 + tonumber(ARGV[at + 1]), nil
    return function()
        next_lanes = next_lanes or each_queue(at, last)
        return next_lanes()
    end, last + 1
end
