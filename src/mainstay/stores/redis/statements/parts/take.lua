-- Taking jobs from lanes: queue by queue as given, in each queue by priority, time and number, whatever lane they are in.
local CHUNK = 16 -- entries read of each lane at a time, where there are several

-- Takes the first entries of one lane. The set `lanes` names lanes with jobs: a claim that empties one removes it, and one
-- that finds a named lane empty does so too.
local function pop(lane, named, limit)
    local popped, members = call("ZPOPMIN", P .. "queue:" .. lane, limit), {}
    for n = 1, #popped, 2 do
        members[#members + 1] = popped[n]
    end
    if #members < limit and (named or #members > 0) then
        call("SREM", P .. "lanes", lane)
    end
    return members
end

-- Takes the first entry of several lanes.
local function pop_first(lanes, named)
    local first, score, member, empty = nil, nil, nil, {}
    for _, lane in ipairs(lanes) do
        local head = call("ZRANGE", P .. "queue:" .. lane, 0, 0, "WITHSCORES")
        local place = tonumber(head[2])
        if not place then
            empty[#empty + 1] = lane
        elseif not first or place < score or (place == score and head[1] < member) then
            first, score, member = lane, place, head[1]
        end
    end
    many("SREM", P .. "lanes", named and empty or {})
    return first and pop(first, false, 1) or {}
end

-- Returns a cursor at the first entry of a lane; it has no member where there is none. All its fields are set at once: a
-- table that grows field by field takes three times as long.
local function cursor_at(lane, size)
    local key = P .. "queue:" .. lane
    local found = call("ZRANGE", key, 0, size - 1, "WITHSCORES")
    local read = #found / 2
    return {
        lane = lane, key = key, entries = found, at = 1, read = read, more = read == size, taken = 0,
        member = found[1], score = tonumber(found[2]),
    }
end

-- Moves a cursor to the next entry of its lane.
local function advance(cursor)
    cursor.taken, cursor.at = cursor.taken + 1, cursor.at + 2
    if cursor.more and cursor.at > #cursor.entries then
        local found = call("ZRANGE", cursor.key, cursor.read, cursor.read + CHUNK - 1, "WITHSCORES")
        cursor.entries, cursor.at, cursor.more = found, 1, #found == 2 * CHUNK
        cursor.read = cursor.read + #found / 2
    end
    cursor.member, cursor.score = cursor.entries[cursor.at], tonumber(cursor.entries[cursor.at + 1])
end

local function before(one, other)
    return one.score < other.score or (one.score == other.score and one.member < other.member)
end

-- Puts a cursor into a binary heap where it belongs, from place `at` on down. The first entry of all is at place 1.
local function sift_down(heap, cursor, at)
    local size = #heap
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

-- Takes the first entries of several lanes, merged by their place in the order. At first it reads so many entries of each
-- that all together are about enough, and one more: it tells whether a lane ends there.
local function merge(lanes, named, limit)
    local heap, cursors, members, empty = {}, {}, {}, {}
    local size = math.min(CHUNK, math.ceil(limit / #lanes) + 1)
    for n, lane in ipairs(lanes) do
        cursors[n] = cursor_at(lane, size)
        heap[#heap + 1] = cursors[n].member and cursors[n]
    end
    for at = math.floor(#heap / 2), 1, -1 do
        sift_down(heap, heap[at], at)
    end
    while #members < limit and #heap > 0 do
        local first = heap[1]
        members[#members + 1] = first.member
        advance(first)
        local last = not first.member and table.remove(heap)
        if #heap > 0 then
            sift_down(heap, last or first, 1)
        end
    end
    for _, cursor in ipairs(cursors) do
        if cursor.taken > 0 then
            call("ZREMRANGEBYRANK", cursor.key, 0, cursor.taken - 1)
        end
        if not cursor.member and (named or cursor.taken > 0) then
            empty[#empty + 1] = cursor.lane
        end
    end
    many("SREM", P .. "lanes", empty)
    return members
end

-- Takes the first entries of the lanes of one queue, which the set `lanes` has named or which are probed. Of those there are
-- mostly none with jobs: one command tells.
local function first_of(lanes, named, limit)
    if #lanes == 1 then
        return pop(lanes[1], named, limit)
    end
    if not named then
        local keys = {}
        for n, lane in ipairs(lanes) do
            keys[n] = P .. "queue:" .. lane
        end
        if #keys == 0 or (#keys <= PIECE and call("EXISTS", unpack(keys)) == 0) then
            return {}
        end
    end
    return limit == 1 and pop_first(lanes, named) or merge(lanes, named, limit)
end

-- Takes up to `limit` entries of lanes, queue by queue; of a type that is tried (parts/start.lua) one.
local function pop_wanted(next_lanes, limit, tried)
    local members = {}
    while #members < limit do
        local lanes, named, trial = next_lanes()
        if not lanes then
            break
        end
        local found = first_of(lanes, named, trial and 1 or limit - #members)
        for n = 1, #found do
            members[#members + 1] = found[n]
        end
        if trial and #found > 0 then
            tried[trial] = string.sub(found[1], SEQ_LENGTH + 1)
        end
    end
    return members
end

local function ids_of(members)
    local ids = {}
    for n = 1, #members do
        ids[n] = string.sub(members[n], SEQ_LENGTH + 1)
    end
    return ids
end

-- Starts jobs that were taken from lanes or lines, with their records in `found`, and appends them to the reply (claim.py reads it).
-- Returns how many, and how many may not start now.
local function start_all(worker, members, ids, found, now, reply)
    local texts, held, written, last, taken, denied, claimed = fetch("payload", ids), {}, {}, #reply, 0, 0, { CLAIMED }
    if bounded == nil then
        bounded = call("EXISTS", P .. "depth") == 1
    end
    for n, id in ipairs(ids) do
        local r = found[id]
        if r and texts[n] and r[RULES] ~= nil and not flow().start(r, id, now) then
            denied = denied + 1
        elseif r and texts[n] then -- otherwise keys were removed by hand: the other jobs are taken all the same
            if bounded then
                flow().count(r, id, -1)
            end
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
            for at = 1, #claimed do
                reply[last + at] = r[claimed[at]]
            end
            if r[RULES] then
                reply[last + 1] = r[HEADER] .. "\n" .. r[RULES] -- the header is the first
                made.released[id] = nil
            end
            last = last + #claimed
        end
    end
    flush()
    many("HSET", P .. "job", written)
    many("ZADD", P .. "run:" .. worker, held)
    return taken, denied
end

-- Takes up to `limit` jobs for a worker. Returns how many, and how many were taken from their lanes but may not start now.
local function take(worker, next_lanes, limit, now, reply, tried)
    local members = pop_wanted(next_lanes, limit, tried)
    if #members == 0 then
        return 0, 0
    end
    local ids = ids_of(members)
    return start_all(worker, members, ids, read(ids), now, reply)
end
