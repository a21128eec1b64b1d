-- A job as one packed array in the hash `job`, by its id. record.py has the fields; an absent value is false.
-- States: q queued, s scheduled, b blocked, r running, v review, c completed, x cancelled, d dead.
local SEQ_LENGTH = 12 -- of the number in front of an id; both together name one job for all time

-- Returns the records of these jobs, by id.
local function read(ids)
    local found, count = {}, #ids
    for start = 1, count, PIECE do
        local raw = call("HMGET", P .. "job", unpack(ids, start, math.min(start + PIECE - 1, count)))
        for n = 1, #raw do
            if raw[n] then
                found[ids[start + n - 1]] = cmsgpack.unpack(raw[n])
            end
        end
    end
    return found
end

local function read_one(id)
    local raw = call("HGET", P .. "job", id)
    return raw and cmsgpack.unpack(raw)
end

local function write(id, r)
    later("HSET", P .. "job", id, cmsgpack.pack(r))
end
