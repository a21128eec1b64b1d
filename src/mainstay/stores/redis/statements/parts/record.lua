-- A job as one packed array in the hash `job`, by its id. What is absent is false. The payload lies in the hash `payload`.
-- States: q queued, s scheduled, b blocked, r running, v review, c completed, x cancelled, d dead.
local STATE, TOKEN, ATTEMPT, CRASHES, SEQ, PRIORITY, ORD, LANE, TIMEOUT, KEEP = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local WORKER, RUN_AT, STARTED, FINISHED, EXPIRES, CANCEL = 11, 12, 13, 14, 15, 16
local LOCK, UNTIL, HELD, REASON, TERMS, META = 17, 18, 19, 20, 21, 22
local SEQ_LENGTH = 12 -- of the number in front of an id; both together name one job for all time

-- The records of these jobs, by id.
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

-- Whether an attempt, named by its job's number and token, holds the job.
local function holds(r, seq, token)
    return r and r[STATE] == "r" and r[TOKEN] == token and r[SEQ] == seq
end
