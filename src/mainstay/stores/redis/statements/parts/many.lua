-- What a worker with many lanes wants: how many lanes, how many texts, then its queues and, for each group of queues that want
-- the same types, the types; `TEXTS` texts each, of which a name's last bytes choose one (claim.py writes them). A name in a
-- text has the byte 255 before it and 254 behind it, which no name has, then its position and its queue's group, `DIGITS`
-- each. So a name is found in 0.3 us; a table of 600 names would take 130 us. The set `lanes` tells which lanes have jobs.
local TEXTS, DIGITS = 16, 6
local LARGE = 1000 -- lanes with jobs, from which on the wanted ones are probed queue by queue: the first have enough

-- Returns the text, of those from `first` on, that has a name, and where in it the name ends; or nil.
local function find_name(first, name)
    local one, two = string.byte(name, -2, -1)
    local text = ARGV[first + ((one or 0) + 3 * (two or 0)) % TEXTS]
    local _, last = string.find(text, "\255" .. name .. "\254", 1, true)
    return last and text, last
end

-- Returns position and group of a queue, or nil. The texts begin at `first`.
local function find_queue(first, queue)
    local text, last = find_name(first, queue)
    if text then
        local group = last + DIGITS
        return tonumber(string.sub(text, last + 1, group)), tonumber(string.sub(text, group + 1, group + DIGITS))
    end
end

-- Returns an iterator over the wanted lanes that have jobs, queue by queue. The texts begin at `first`.
local function each_filled(first)
    local lanes, positions, n = {}, {}, 0
    local before, position, group
    for _, lane in ipairs(call("SMEMBERS", P .. "lanes")) do
        local queue, type = split(lane)
        if queue ~= before then
            before, position, group = queue, find_queue(first, queue)
        end
        if position and find_name(first + group * TEXTS, type) then
            local known = lanes[position]
            if known then
                known[#known + 1] = lane
            else
                lanes[position] = { lane }
                positions[#positions + 1] = position
            end
        end
    end
    table.sort(positions)
    return function()
        n = n + 1
        return lanes[positions[n]], true
    end
end

-- Returns the names in the texts from `first` on by their positions, and the group of each.
local function names_from(first)
    local names, groups = {}, {}
    for at = first, first + TEXTS - 1 do
        for name, digits in string.gmatch(ARGV[at], "\255([^\254]*)\254(%d*)") do
            local position = tonumber(string.sub(digits, 1, DIGITS))
            names[position], groups[position] = name, tonumber(string.sub(digits, DIGITS + 1))
        end
    end
    return names, groups
end

-- Returns an iterator over all wanted lanes, queue by queue. The texts begin at `first`.
local function each_wanted(first)
    local queues, groups = names_from(first)
    local types, n = {}, 0
    return function()
        n = n + 1
        local queue, group, lanes = queues[n], groups[n], {}
        if not queue then
            return nil
        end
        types[group] = types[group] or names_from(first + group * TEXTS)
        for k, type in ipairs(types[group]) do
            lanes[k] = #queue .. ":" .. queue .. ":" .. type
        end
        return lanes, false
    end
end

-- Returns an iterator over the lanes of each queue, with whether the set names them; and where in ARGV the next value is.
-- The set is read when the first lanes are taken: until then a claim may queue jobs.
local function lanes_wanted(at)
    local next_lanes
    return function()
        if not next_lanes then
            local filled = call("SCARD", P .. "lanes")
            local each = filled > math.min(tonumber(ARGV[at]), LARGE) and each_wanted or each_filled
            next_lanes = filled > 0 and each(at + 2) or function() end
        end
        return next_lanes()
    end, at + 2 + tonumber(ARGV[at + 1])
end

-- Returns what tells the position of a lane's queue among the wanted ones (nil: the lane is not wanted), and how many queues there are.
local function positions(at)
    local first = at + 2
    return function(lane)
        local queue, type = split(lane)
        local position, group = find_queue(first, queue)
        return position and find_name(first + group * TEXTS, type) and position
    end, #names_from(first)
end
