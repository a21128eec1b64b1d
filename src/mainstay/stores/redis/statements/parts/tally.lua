-- Counts the ends of attempts (core/counting.py). They are added up here and written once a call.
local BOUNDS = { TALLY }
local tallied = {}

-- Returns the first bound that is not below a number; the last one where all are.
local function bound_of(ms)
    local low, high = 1, #BOUNDS
    while low < high do
        local middle = math.floor((low + high) / 2)
        if BOUNDS[middle] < ms then
            low = middle + 1
        else
            high = middle
        end
    end
    return BOUNDS[low]
end

-- Returns the counters of a lane in the minute of an instant.
local function counters(at, lane)
    local minute = math.floor(at / 60000)
    local lanes = tallied[minute]
    if not lanes then
        lanes = {}
        tallied[minute] = lanes
    end
    local found = lanes[lane]
    if not found then
        found = { names = {}, ran = {}, waited = {}, n = 0, rsum = 0, wsum = 0 }
        lanes[lane] = found
    end
    return found
end

local function add(into, name, n)
    into[name] = (into[name] or 0) + n
end

-- Counts an attempt that simply completed, before its record changes.
local function count_completed(r, at)
    local into = counters(at, r[LANE])
    local ran = at > r[STARTED_AT] and at - r[STARTED_AT] or 0
    into.n, into.rsum = into.n + 1, into.rsum + ran
    add(into.ran, bound_of(ran), 1)
    if r[TOKEN] == r[ATTEMPT] and r[CRASHES] == 0 then
        local waited = r[STARTED_AT] > r[ORD] and r[STARTED_AT] - r[ORD] or 0
        into.wsum = into.wsum + waited
        add(into.waited, bound_of(waited), 1)
    end
    if r[ATTEMPT] > 1 then
        for _, tries in ipairs({ TRIES }) do
            if r[ATTEMPT] <= tries or tries == { LAST_TRY } then
                add(into.names, "a" .. tries, 1)
                break
            end
        end
        add(into.names, "asum", r[ATTEMPT] - 1)
    end
end

-- Counts what the caller has made of another attempt: names and numbers in one text.
local function count_text(r, at, text)
    local names = counters(at, r[LANE]).names
    for name, n in string.gmatch(text, "(%S+) (%d+)") do
        add(names, name, tonumber(n))
    end
end

local function write_tallies()
    for minute, lanes in pairs(tallied) do
        for lane, found in pairs(lanes) do
            local names = found.names
            names.completed = found.n > 0 and found.n + (names.completed or 0) or names.completed
            names.rsum = found.rsum > 0 and found.rsum + (names.rsum or 0) or names.rsum
            names.wsum = found.wsum > 0 and found.wsum + (names.wsum or 0) or names.wsum
            for bound, n in pairs(found.ran) do
                add(names, "r" .. bound, n)
            end
            for bound, n in pairs(found.waited) do
                add(names, "w" .. bound, n)
            end
            tally_up(minute, lane, names)
        end
    end
end
