-- Imports rows of one part, in their order. ARGV: where the move is, where it is then, the part, and per row the id of its job
-- and the row (move.py). The move continues only from where the mover expects it to be, so two of them cannot
-- mix. Returns 1, or 0 where the move is elsewhere by now.
-- uses: base batch record admit draft code audit -- rarely: lane rules
if call("HGET", P .. "setting", "move.mark") ~= ARGV[1] then
    return 0
end
call("HSET", P .. "setting", "move.mark", ARGV[2])

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

-- A row is a packed array: kind, name, rule, and whether it bounds a queue, which is empty as yet.
local function import_rule(_, packed)
    local kind, name, rule, bound = unpack(cmsgpack.unpack(packed))
    call("SET", P .. "flow", 1)
    call("HSET", P .. "rule:" .. kind, name, rule)
    if kind == "type" or kind == "queue" then
        call("INCR", P .. "ruled")
    end
    if bound then
        call("HSETNX", P .. "depth", name, 0)
    end
end

-- A row is a parent and a child. The parent may have been deleted.
local function import_after(parent, child)
    local r = read_one(parent)
    if r then
        flow().extend(r)[AWAITED] = true
        write(parent, r)
    end
    if call("HEXISTS", P .. "job", child) == 1 then
        later("ZADD", P .. "after", 0, "c" .. child .. "\0" .. parent)
        later("ZADD", P .. "after", 0, "p" .. parent .. "\0" .. child)
    end
    flush()
end

local import = ({ jobs = import_job, attempts = import_attempt, actions = import_action, rules = import_rule, after = import_after })[ARGV[3]] or import_commands
for n = 4, #ARGV, 2 do
    import(ARGV[n], ARGV[n + 1])
end
flush()
return 1
