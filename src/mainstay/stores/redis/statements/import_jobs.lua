-- Takes jobs over as they were elsewhere, numbered in the order given. ARGV: where the move is, where it is then, and per
-- job its id and a packed array of its record without the number, its payload, result, checkpoint and progress.
-- Answers 1, or 0 when the move is elsewhere by now.
-- uses: base batch record place draft mark
local HASHES = { "payload", "result", "checkpoint", "progress" }
if not onward(ARGV[1], ARGV[2]) then
    return 0
end

-- A running job is its worker's; one that is not registered here has left it behind.
local function hold(r, id)
    local worker = r[WORKER]
    later("ZADD", P .. "run:" .. worker, r[TIMEOUT] and r[STARTED] + r[TIMEOUT] or "+inf", id)
    if r[CANCEL] then
        later("SADD", P .. "stop:" .. worker, id)
    end
    if not call("ZSCORE", P .. "workers", worker) then
        later("SADD", P .. "gone", worker)
    end
end

local jobs = (#ARGV - 2) / 2
local number = call("INCRBY", P .. "seq", jobs) - jobs
for n = 1, jobs do
    local id, parts = ARGV[2 * n + 1], cmsgpack.unpack(ARGV[2 * n + 2])
    local r = parts[1]
    r[SEQ] = string.format("%012x", number + n)
    if r[STATE] == "r" then
        hold(r, id)
    end
    enter(r, id)
    index(r, id)
    write(id, r)
    if r[HELD] then
        later("HSET", P .. "lock", r[LOCK], id)
    end
    for at, hash in ipairs(HASHES) do
        if parts[at + 1] then
            later("HSET", P .. hash, id, parts[at + 1])
        end
    end
    later("ZADD", P .. "ids", 0, id)
end
flush()
return 1
