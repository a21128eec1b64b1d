-- Writing rows of jobs, attempts, log lines and actions as they are (move.py packs them).
-- A row is a packed array: the record without its number, the texts by their hash, and when something is due about its review, or false.
local function import_job(id, packed)
    local r, texts, due = unpack(cmsgpack.unpack(packed))
    r[SEQ] = string.format("%012x", call("INCR", P .. "seq"))
    if r[RULES] ~= nil then
        call("SET", P .. "flow", 1)
    end
    index("ZADD", r, id) -- a job with rules takes its slots with that
    if r[STATE] == "r" and not call("ZSCORE", P .. "workers", r[WORKER]) then
        later("SADD", P .. "gone", r[WORKER]) -- a worker that is not registered here has left it behind
    end
    add_terms(r, id)
    write(id, r)
    if r[HELD] then
        later("HSET", P .. "lock", r[LOCK], id)
    end
    for hash, text in pairs(texts) do
        later("HSET", P .. hash, id, text)
    end
    if due then
        later("ZADD", P .. "review_due", due, id)
    end
    later("ZADD", P .. "ids", 0, id)
end

-- Runs commands on keys, which belong to a job that must exist, or to none ("").
local function run(id, commands)
    if id == "" or call("HEXISTS", P .. "job", id) == 1 then
        for _, command in ipairs(commands) do
            call(command[1], P .. command[2], unpack(command, 3))
        end
    end
end

local function import_commands(id, packed)
    run(id, cmsgpack.unpack(packed))
end

-- A row is a packed array: commands, the token, and the code of the attempt's error or false.
local function import_attempt(id, packed)
    local commands, token, code = unpack(cmsgpack.unpack(packed))
    run(id, commands)
    local r = code and read_one(id)
    if r then
        keep_code(r, id, token, code)
        write(id, r)
        flush()
    end
end

-- A row is a packed array: the entry, and the id of a bulk action.
local function import_action(id, packed)
    local entry, bulk = unpack(cmsgpack.unpack(packed))
    add_action(id, entry, bulk)
end
