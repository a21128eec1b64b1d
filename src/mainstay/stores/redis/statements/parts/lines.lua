-- Starts the first jobs in line at slots with room, without queueing them first (docs/decisions/0031): jobs whose only rule is one
-- limit. The lines come in the order of their first jobs, and as many jobs of each are taken as there is room for: one command for five
-- jobs of a key.
local LEAST, MOST = 20, 1000 -- lines that are looked at: one for each two jobs that are wanted, within these bounds

-- Examines jobs that are marked to be examined, such as released ones, and leaves lines. Returns whether some were queued or scheduled.
local function look_at_marked(now)
    if next(ended) == nil and call("EXISTS", P .. "wait:", P .. "wait:+", P .. "ending") == 0 then
        return false
    end
    local freed = {}
    for name, entry in pairs(touched) do
        freed[name] = entry
    end
    for name in pairs(freed) do
        touched[name] = nil
    end
    touched[""], touched["+"] = true, true
    local found = look(now, 0, true)
    for name, entry in pairs(freed) do
        touched[name] = entry
    end
    return found
end

local undecided = {} -- lines to be examined, as in `touched`

-- Keeps a line for a later call, or no longer.
local function keep_line(line, keep)
    if keep ~= line.kept then
        later(keep and "SADD" or "SREM", P .. "woken", line.entry.text)
    end
end

local function by_queue(one, other)
    return one.queue < other.queue or (one.queue == other.queue and by_place(one, other))
end

-- Puts lines in the order of their first jobs: by queue, where a worker has several, and by place.
local function sort_lines(lines, wants)
    local position_of, queues = positions(wants)
    if queues > 1 then
        local heads = {}
        for n, line in ipairs(lines) do
            heads[n] = line[2]
        end
        local ids = ids_of(heads)
        local found = read(ids)
        for n, line in ipairs(lines) do
            local r = found[ids[n]]
            line.queue = r and position_of(r[LANE]) or 0 -- what is not wanted is to be examined
        end
    end
    table.sort(lines, queues > 1 and by_queue or by_place)
    return lines
end

-- Returns the lines at slots that were given back in this call, and some of those that were kept before, each with the place of its first
-- job, and in this order.
local function freed_lines(wants, limit)
    local lines, seen = {}, {}
    local function add(entry, kept)
        local line = call("ZRANGE", P .. "wait:" .. entry.slot, 0, 0, "WITHSCORES")
        seen[entry.slot], touched[entry.slot], line.entry, line.kept = true, nil, entry, kept
        if line[1] then
            line[1], line[2] = tonumber(line[2]), line[1]
            lines[#lines + 1] = line
        else
            keep_line(line, false)
            if holders(entry.slot) == 0 then
                later("ZREM", P .. "lines", entry.slot)
            end
        end
    end
    for _, kept in ipairs(call("SRANDMEMBER", P .. "woken", math.min(MOST, math.max(LEAST, math.ceil(limit / 2))))) do
        local entry = simple(kept)
        if entry and not seen[entry.slot] then
            add(entry, true)
        else
            undecided[entry and entry.slot or kept] = entry or true
            later("SREM", P .. "woken", kept)
        end
    end
    local freed = {}
    for _, entry in pairs(touched) do
        freed[#freed + 1] = type(entry) == "table" and entry.only or nil
    end
    for _, entry in ipairs(freed) do
        add(entry, false)
    end
    return sort_lines(lines, wants)
end

-- Takes as many jobs of a line as there is room for, and adds them, their places and limits to three lists. The line is kept if more have room.
local function pop_line(line, limit, now, members, places, entries)
    local entry, slot = line.entry, line.entry.slot
    local free = room(entry, now)
    local some = math.min(free, limit - #members)
    local popped = some > 0 and call("ZPOPMIN", P .. "wait:" .. slot, some) or {}
    for n = 1, #popped, 2 do
        local at = #members + 1
        members[at], places[at], entries[at] = popped[n], popped[n + 1], entry
    end
    if free <= 0 then
        undecided[slot] = entry -- one may give way
    end
    keep_line(line, some < free and #popped == 2 * some)
end

-- Returns whether a job in line at a slot may start. One that is something else than the others of its line is examined.
local function may_start(r, member, entry, position_of)
    if r and r[RULES] == entry.text and r[STATE] == "b" and r[WAITS] == entry.slot and not r[START_BY] and position_of(r[LANE])
        and member == r[SEQ] .. string.sub(member, SEQ_LENGTH + 1) then
        return true
    end
    undecided[entry.slot] = entry
    return false
end

-- Starts jobs that were taken from lines, and lets them hold their slots. Returns how many.
local function start_in_line(worker, members, places, entries, position_of, now, reply)
    local all, chosen, ids, slots = ids_of(members), {}, {}, {}
    local found = read(all)
    for n, id in ipairs(all) do
        local r, slot = found[id], entries[n].slot
        if may_start(r, members[n], entries[n], position_of) then
            local at = #chosen + 1
            chosen[at], ids[at], slots[at] = members[n], id, slot
            r[WAITS], r[RUN_AT] = false, false
        else
            later("ZADD", P .. "wait:" .. slot, places[n], members[n])
        end
    end
    local taken = #chosen > 0 and start_all(worker, chosen, ids, found, now, reply) or 0
    for n, id in ipairs(ids) do
        if found[id][STATE] == "r" then -- it has a payload
            later("ZADD", P .. "hold:" .. slots[n], RUNS, chosen[n])
            unsent, cards[slots[n]] = true, nil
        end
    end
    return taken
end

-- Examines lines that cannot be decided here. Returns whether jobs were queued or scheduled.
local function examine_rest(now)
    for name, entry in pairs(undecided) do
        touched[name] = entry
    end
    undecided = {}
    return unkept() and look(now, 0, true)
end

-- Takes up to `limit` jobs from lines for a worker; lines that have more are kept. Returns how many, and whether others were queued.
local function take_lines(worker, wants, limit, now, reply)
    local members, places, entries = {}, {}, {}
    for _, line in ipairs(freed_lines(wants, limit)) do
        if #members < limit then
            pop_line(line, limit, now, members, places, entries)
        else
            keep_line(line, true)
        end
    end
    local taken = start_in_line(worker, members, places, entries, (positions(wants)), now, reply)
    return taken, examine_rest(now)
end

-- Returns how many of these jobs in line, in order, are among the first `limit` together with those in lanes.
local function how_many_first(jobs, lanes, limit)
    local low, high = 0, #jobs
    while low < high do
        local middle = math.ceil((low + high) / 2)
        local before = middle
        for _, lane in ipairs(lanes) do
            before = before + call("ZCOUNT", P .. "queue:" .. lane, "-inf", string.format("(%.0f", jobs[middle][1]))
        end
        if before <= limit then
            low = middle
        else
            high = middle - 1
        end
    end
    return low
end

-- Returns the lanes of a worker's queues, as far as they are needed for `limit` queued jobs, and whether these are there.
local function lanes_with(wants, limit)
    local lanes, queued = {}, 0
    for some in lanes_wanted(wants) do
        for _, lane in ipairs(some) do
            lanes[#lanes + 1] = lane
            queued = queued + call("ZCARD", P .. "queue:" .. lane)
        end
        if queued >= limit then
            break
        end
    end
    return lanes, queued >= limit
end

-- Returns those jobs of lines, in order, that are among the next `limit` jobs of lanes and lines. The lines are kept if more have room.
local function jobs_ahead(lines, lanes, limit, now)
    local jobs, chosen = {}, {}
    for _, line in ipairs(lines) do
        line.free = room(line.entry, now)
        local last = math.min(line.free, limit) - 1
        local found = last >= 0 and call("ZRANGE", P .. "wait:" .. line.entry.slot, 0, last, "WITHSCORES") or {}
        for n = 1, #found, 2 do
            jobs[#jobs + 1] = { tonumber(found[n + 1]), found[n], line }
        end
        if line.free <= 0 then
            undecided[line.entry.slot] = line.entry -- one may give way
        end
    end
    table.sort(jobs, by_place)
    for n = 1, how_many_first(jobs, lanes, limit) do
        local line = jobs[n][3]
        chosen[n], line.free = jobs[n], line.free - 1
        later("ZREM", P .. "wait:" .. line.entry.slot, jobs[n][2])
    end
    for _, line in ipairs(lines) do
        keep_line(line, line.free > 0)
    end
    return chosen
end

-- Takes those of the next `limit` jobs that are in line, for a claim whose turn it is. Returns how many: none where fewer jobs are queued, because
-- `take_open` goes on with lines; nil where they are to be examined, because the jobs are of several queues.
local function take_ahead(worker, wants, limit, now, reply)
    look_at_marked(now)
    local lanes, enough = lanes_with(wants, limit)
    local position_of, queues = positions(wants)
    if not enough or queues > 1 then
        return not enough and 0 or nil
    end
    local members, places, entries = {}, {}, {}
    for n, job in ipairs(jobs_ahead(freed_lines(wants, limit), lanes, limit, now)) do
        members[n], places[n], entries[n] = job[2], job[1], job[3].entry
    end
    local taken = start_in_line(worker, members, places, entries, position_of, now, reply)
    examine_rest(now)
    return taken
end

made.take_ahead = take_ahead
