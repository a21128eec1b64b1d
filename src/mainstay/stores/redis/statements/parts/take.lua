-- Taking jobs from the lanes of one queue: the first by priority, time and number, whatever lane they are in.
local CHUNK = 16 -- read of each lane at a time, where there are several

-- The lanes of each queue, from how many there are on: per queue how many lanes, lanes. Answers also where the next value is.
local function queues_in(list, at)
    local queues, count = {}, tonumber(list[at])
    at = at + 1
    for q = 1, count do
        local lanes = {}
        for n = 1, tonumber(list[at]) do
            lanes[n] = list[at + n]
        end
        queues[q], at = lanes, at + 1 + #lanes
    end
    return queues, at
end

local function pop(lane, limit)
    local popped, members = call("ZPOPMIN", P .. "queue:" .. lane, limit), {}
    for n = 1, #popped, 2 do
        members[#members + 1] = popped[n]
    end
    return members
end

-- The next entries of a lane, behind those that were read.
local function refill(lane, size)
    local found = call("ZRANGE", lane.key, lane.read, lane.read + size - 1, "WITHSCORES")
    lane.entries, lane.at, lane.read = found, 1, lane.read + #found / 2
    lane.member, lane.score = found[1], tonumber(found[2])
    return lane.member
end

local function ahead(one, other)
    return one.score < other.score or (one.score == other.score and one.member < other.member)
end

local function advance(lane, size)
    lane.taken, lane.at = lane.taken + 1, lane.at + 2
    lane.member, lane.score = lane.entries[lane.at], tonumber(lane.entries[lane.at + 1])
    return lane.member or (#lane.entries == 2 * size and refill(lane, size))
end

local function merge(keys, limit)
    local heads, members, size = {}, {}, math.min(limit, CHUNK)
    for _, key in ipairs(keys) do
        local lane = { key = key, read = 0, taken = 0 }
        if refill(lane, size) then
            heads[#heads + 1] = lane
        end
    end
    local touched = { unpack(heads) }
    while #members < limit and #heads > 0 do
        local best = 1
        for n = 2, #heads do
            best = ahead(heads[n], heads[best]) and n or best
        end
        members[#members + 1] = heads[best].member
        if not advance(heads[best], size) then
            table.remove(heads, best)
        end
    end
    for _, lane in ipairs(touched) do
        if lane.taken > 0 then
            call("ZREMRANGEBYRANK", lane.key, 0, lane.taken - 1)
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

-- The first members of some lanes, taken out of them. Most of the time there are none: one look at all lanes tells.
local function first_of(lanes, limit)
    if #lanes == 1 then
        return pop(lanes[1], limit)
    end
    local keys = {}
    for n, lane in ipairs(lanes) do
        keys[n] = P .. "queue:" .. lane
    end
    if #keys == 0 or (#keys <= PIECE and call("EXISTS", unpack(keys)) == 0) then
        return {}
    end
    return merge(keys, limit)
end

-- Takes up to `limit` jobs for a worker and appends them to the answer; answers how many.
local function take(worker, lanes, limit, now, answer)
    local members = first_of(lanes, limit)
    if #members == 0 then
        return 0
    end
    local ids, held, written, last, taken = {}, {}, {}, #answer, 0
    for n = 1, #members do
        ids[n] = string.sub(members[n], SEQ_LENGTH + 1)
    end
    local found, texts = read(ids), payloads(ids)
    for n, id in ipairs(ids) do
        local r = found[id]
        if r and texts[n] then -- else somebody has taken keys away by hand: the rest goes on
            r[STATE], r[TOKEN], r[ATTEMPT] = "r", r[TOKEN] + 1, r[ATTEMPT] + 1
            r[WORKER], r[STARTED] = worker, now
            if r[UNTIL] == 0 then
                release(r)
            end
            taken = taken + 1
            written[2 * taken - 1], written[2 * taken] = id, cmsgpack.pack(r)
            held[2 * taken - 1], held[2 * taken] = r[TIMEOUT] and now + r[TIMEOUT] or "+inf", id
            answer[last + 1], answer[last + 2], answer[last + 3] = members[n], r[META], texts[n]
            answer[last + 4], answer[last + 5], answer[last + 6] = r[ATTEMPT], r[CRASHES], r[TOKEN]
            answer[last + 7] = r[ORD]
            last = last + 7
        end
    end
    flush()
    many("HSET", P .. "job", written)
    many("ZADD", P .. "run:" .. worker, held)
    return taken
end
