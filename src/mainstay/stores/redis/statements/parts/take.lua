-- Taking jobs from lanes: queue by queue as given, in each queue by priority, time and number, whatever lane they are in.
-- A claim visits only lanes with jobs that it may take. A worker with few lanes names them, and they are probed directly.
-- One with many sends its queues and types, and the set `lanes` tells which of their lanes have jobs.
local CHUNK = 16 -- entries read of each lane at a time, where there are several

-- Calls `add` with the position of its queue and the name of each wanted lane: of those in the set, or of all.
local function wanted_lanes(groups, all, add)
    if all then
        for _, group in ipairs(groups) do
            for queue, position in pairs(group.queues) do
                for type in pairs(group.types) do
                    add(position, #queue .. ":" .. queue .. ":" .. type)
                end
            end
        end
        return
    end
    for _, lane in ipairs(call("SMEMBERS", P .. "lanes")) do
        local queue, type = split(lane)
        for _, group in ipairs(groups) do
            if group.queues[queue] and group.types[type] then
                add(group.queues[queue], lane)
            end
        end
    end
end

-- Returns the lanes of each queue, in the order of the queues. `text` is JSON: of few lanes a list per queue, of many
-- groups of queues (each with its position) with the same types; `wanted` is then the number of their lanes, else 0.
local function lanes_by_queue(wanted, text)
    if wanted == 0 then
        return cjson.decode(text)
    end
    local filled = call("SCARD", P .. "lanes")
    if filled == 0 then
        return {}
    end
    local lanes, positions, queues = {}, {}, {}
    wanted_lanes(cjson.decode(text), filled > wanted, function(position, lane)
        if not lanes[position] then
            lanes[position] = {}
            positions[#positions + 1] = position
        end
        table.insert(lanes[position], lane)
    end)
    table.sort(positions)
    for n, position in ipairs(positions) do
        queues[n] = lanes[position]
    end
    return queues
end

-- Takes the first entries of one lane.
local function pop(lane, limit)
    local popped, members = call("ZPOPMIN", P .. "queue:" .. lane, limit), {}
    for n = 1, #popped, 2 do
        members[#members + 1] = popped[n]
    end
    if #members < limit then
        call("SREM", P .. "lanes", lane)
    end
    return members
end

-- A cursor is at the first entry of a lane that is not taken. Returns that entry, or nil at the end of the lane.
local function read_on(cursor)
    local found = call("ZRANGE", cursor.key, cursor.read, cursor.read + cursor.size - 1, "WITHSCORES")
    cursor.entries, cursor.at, cursor.more = found, 1, #found == 2 * cursor.size
    cursor.read, cursor.size = cursor.read + #found / 2, math.min(CHUNK, 2 * cursor.size)
    cursor.member, cursor.score = found[1], tonumber(found[2])
    return cursor.member
end

local function advance(cursor)
    cursor.taken, cursor.at = cursor.taken + 1, cursor.at + 2
    cursor.member, cursor.score = cursor.entries[cursor.at], tonumber(cursor.entries[cursor.at + 1])
    return cursor.member or (cursor.more and read_on(cursor))
end

local function before(one, other)
    return one.score < other.score or (one.score == other.score and one.member < other.member)
end

-- Moves the cursor at place `at` of a binary heap down to where it belongs.
local function sift_down(heap, at)
    local cursor, size = heap[at], #heap
    while 2 * at <= size do
        local child = 2 * at
        if child < size and before(heap[child + 1], heap[child]) then
            child = child + 1
        end
        if before(cursor, heap[child]) then
            break
        end
        heap[at] = heap[child]
        at = child
    end
    heap[at] = cursor
end

-- Returns a cursor for each lane that has entries, as a heap, and as a list.
local function cursors_of(lanes, limit)
    local heap, cursors, empty, size = {}, {}, {}, math.min(CHUNK, math.ceil(limit / #lanes))
    for _, lane in ipairs(lanes) do
        local cursor = { lane = lane, key = P .. "queue:" .. lane, size = size, read = 0, taken = 0 }
        if read_on(cursor) then
            heap[#heap + 1], cursors[#cursors + 1] = cursor, cursor
        else
            empty[#empty + 1] = lane
        end
    end
    for at = math.floor(#heap / 2), 1, -1 do
        sift_down(heap, at)
    end
    many("SREM", P .. "lanes", empty)
    return heap, cursors
end

-- Takes the first entries of several lanes, merged by their place in the order.
local function merge(lanes, limit)
    local heap, cursors = cursors_of(lanes, limit)
    local members, empty = {}, {}
    while #members < limit and #heap > 0 do
        local first = heap[1]
        members[#members + 1] = first.member
        if not advance(first) then
            empty[#empty + 1] = first.lane
            local last = table.remove(heap)
            heap[1] = #heap > 0 and last or nil
        end
        if #heap > 1 then
            sift_down(heap, 1)
        end
    end
    for _, cursor in ipairs(cursors) do
        if cursor.taken > 0 then
            call("ZREMRANGEBYRANK", cursor.key, 0, cursor.taken - 1)
        end
    end
    many("SREM", P .. "lanes", empty)
    return members
end

-- Takes the first entries of the lanes of one queue. Mostly there are none: one command tells of all lanes.
local function first_of(lanes, limit)
    if #lanes == 1 then
        return pop(lanes[1], limit)
    end
    local keys = {}
    for n, lane in ipairs(lanes) do
        keys[n] = P .. "queue:" .. lane
    end
    if #keys <= PIECE and (#keys == 0 or call("EXISTS", unpack(keys)) == 0) then
        many("SREM", P .. "lanes", lanes)
        return {}
    end
    return merge(lanes, limit)
end

-- Takes up to `limit` entries of the lanes that a worker wants.
local function pop_wanted(wanted, text, limit)
    local members = {}
    for _, lanes in ipairs(limit > 0 and lanes_by_queue(wanted, text) or {}) do
        local found = first_of(lanes, limit - #members)
        if #members == 0 then
            members = found
        else
            for n = 1, #found do
                members[#members + 1] = found[n]
            end
        end
        if #members >= limit then
            break
        end
    end
    return members
end

local function payloads(ids)
    local found = {}
    for start = 1, #ids, PIECE do
        local raw = call("HMGET", P .. "payload", unpack(ids, start, math.min(start + PIECE - 1, #ids)))
        for n = 1, #raw do
            found[start + n - 1] = raw[n]
        end
    end
    return found
end

-- Takes up to `limit` jobs for a worker and appends them to the reply (claim.py reads it). Returns how many.
local function take(worker, wanted, text, limit, now, reply)
    local members = pop_wanted(wanted, text, limit)
    if #members == 0 then
        return 0
    end
    local ids, held, written, last, taken, fields = {}, {}, {}, #reply, 0, #CLAIMED
    for n = 1, #members do
        ids[n] = string.sub(members[n], SEQ_LENGTH + 1)
    end
    local found, texts = read(ids), payloads(ids)
    for n, id in ipairs(ids) do
        local r = found[id]
        if r and texts[n] then -- otherwise keys were removed by hand: the other jobs are taken all the same
            r[STATE], r[TOKEN], r[ATTEMPT] = "r", r[TOKEN] + 1, r[ATTEMPT] + 1
            r[WORKER], r[STARTED_AT] = worker, now
            if r[LOCK_UNTIL] == 0 then
                release(r)
            end
            taken = taken + 1
            written[2 * taken - 1], written[2 * taken] = id, cmsgpack.pack(r)
            held[2 * taken - 1], held[2 * taken] = r[TIMEOUT] and now + r[TIMEOUT] or "+inf", id
            reply[last + 1], reply[last + 2] = members[n], texts[n]
            last = last + 2
            for at = 1, fields do
                reply[last + at] = r[CLAIMED[at]]
            end
            last = last + fields
        end
    end
    flush()
    many("HSET", P .. "job", written)
    many("ZADD", P .. "run:" .. worker, held)
    return taken
end
