-- Imports jobs as they were elsewhere, numbered in the order given. ARGV: where the move is, where it is then, and per job
-- its id and a packed array of its record without the number, its payload, result, checkpoint and progress (move.py).
-- Returns 1, or 0 where the move is elsewhere by now.
-- uses: base batch record admit draft mark
if not onward(ARGV[1], ARGV[2]) then
    return 0
end

-- Puts a running job into the index of its worker. A worker that is not registered here has left it behind.
local function hold(r, id)
    local worker = r[WORKER]
    later("ZADD", P .. "run:" .. worker, r[TIMEOUT] and r[STARTED_AT] + r[TIMEOUT] or "+inf", id)
    if r[CANCEL_AT] then
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
    local r, texts = parts[1], parts[2]
    r[SEQ] = string.format("%012x", number + n)
    if r[STATE] == "q" or r[STATE] == "s" then
        admit(r, id, r[STATE] == "s", r[ORD])
    elseif r[STATE] == "r" then
        hold(r, id)
    else
        index(r, id)
    end
    add_terms(r, id)
    write(id, r)
    if r[HELD] then
        later("HSET", P .. "lock", r[LOCK], id)
    end
    for hash, text in pairs(texts) do
        later("HSET", P .. hash, id, text)
    end
    later("ZADD", P .. "ids", 0, id)
end
flush()
return 1
