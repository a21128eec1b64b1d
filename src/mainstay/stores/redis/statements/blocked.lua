-- Counts blocked jobs by lane, line by line. ARGV: how many jobs to read, the line to begin with, and how many of its jobs to leave
-- out. Returns rows of lane and count, then where to go on: the line and how many of its jobs to leave out; nothing at the end.
-- uses: base batch record
local LINES = 1000 -- looked at in one call, at most
local left, last, skip = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local ids, lines, from = {}, 0, "[" .. last

-- Adds the jobs of a line; returns whether there is time for another.
local function add(name)
    skip = name == last and skip or 0
    local members = call("ZRANGE", P .. "wait:" .. name, skip, skip + left - 1)
    for _, member in ipairs(members) do
        ids[#ids + 1] = string.sub(member, SEQ_LENGTH + 1)
    end
    lines, left, last, skip = lines + 1, left - #members, name, skip + #members
    return left > 0 and lines < LINES
end

local function walk()
    while true do
        local names = call("ZRANGEBYLEX", P .. "lines", from, "+", "LIMIT", 0, 100)
        for _, name in ipairs(names) do
            if not add(name) then
                return { last, skip }
            end
            from = "(" .. name
        end
        if #names < 100 then
            return {}
        end
    end
end

-- Returns state and lane of a packed record, without a table of all its fields: in half of the time.
local function state_and_lane(packed)
    local _, state, _, _, _, _, _, _, lane = cmsgpack.unpack_limit(packed, { LANE_AT }, 3) -- behind the three bytes of its length
    return state, lane
end

local place, sums, rows = walk(), {}, {}
for _, packed in ipairs(fetch("job", ids)) do
    local state, lane
    if packed then
        state, lane = state_and_lane(packed)
    end
    if state == "b" then
        local sum = sums[lane]
        if not sum then
            sum = { lane, 0 }
            sums[lane], rows[#rows + 1] = sum, sum
        end
        sum[2] = sum[2] + 1
    end
end
return { rows, place }
