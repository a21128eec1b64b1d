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
        found = { names = {}, ran = {}, waited = {}, n = 0 }
        lanes[lane] = found
    end
    return found
end

local function add(into, name, n)
    into[name] = (into[name] or 0) + n
end

-- Counts an attempt that simply completed, before its record changes. Times are put into buckets at the end: many are the same.
local function count_completed(r, at)
    local into, started = counters(at, r[LANE]), r[STARTED_AT]
    local ran = at > started and at - started or 0
    into.n = into.n + 1
    into.ran[ran] = (into.ran[ran] or 0) + 1
    if r[TOKEN] == r[ATTEMPT] and r[CRASHES] == 0 then
        local waited = started > r[ORD] and started - r[ORD] or 0
        into.waited[waited] = (into.waited[waited] or 0) + 1
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

local function add_times(names, kind, times)
    for ms, n in pairs(times) do
        add(names, kind .. bound_of(ms), n)
        if ms > 0 then
            add(names, kind .. "sum", ms * n)
        end
    end
end

local function write_tallies()
    for minute, lanes in pairs(tallied) do
        for lane, found in pairs(lanes) do
            if found.n > 0 then
                add(found.names, "completed", found.n)
                add_times(found.names, "r", found.ran)
                add_times(found.names, "w", found.waited)
            end
            tally_up(minute, lane, found.names)
        end
    end
end
