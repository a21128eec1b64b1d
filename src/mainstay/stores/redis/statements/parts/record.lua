-- A job as one packed array in the hash `job`, by its id. record.py has the fields; an absent value is false.
-- States: q queued, s scheduled, b blocked, r running, v review, c completed, x cancelled, d dead.
local SEQ_LENGTH = 12 -- of the number in front of an id; both together name one job for all time

-- Returns the values of a hash for these jobs, in their order; false where there is none.
local function fetch(hash, ids)
    local found, count = {}, #ids
    for start = 1, count, PIECE do
        local raw = call("HMGET", P .. hash, unpack(ids, start, math.min(start + PIECE - 1, count)))
        for n = 1, #raw do
            found[start + n - 1] = raw[n]
        end
    end
    return found
end

-- Returns the records of these jobs, by id.
local function read(ids)
    local found, raw = {}, fetch("job", ids)
    for n = 1, #ids do
        found[ids[n]] = raw[n] and cmsgpack.unpack(raw[n]) or nil
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
