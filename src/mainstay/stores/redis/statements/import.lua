-- Imports rows of one part, in their order. ARGV: where the move is, where it is then, the part, and per row the id of its job
-- and the row (move.py). The move continues only from where the mover expects it to be, so two of them cannot
-- mix. Returns 1, or 0 where the move is elsewhere by now.
-- uses: base batch record admit draft code audit restore -- rarely: lane rules
if call("HGET", P .. "setting", "move.mark") ~= ARGV[1] then
    return 0
end
call("HSET", P .. "setting", "move.mark", ARGV[2])

-- A row is a packed array: kind, name, rule, and whether it bounds a queue, which is empty as yet.
local function import_rule(_, packed)
    local kind, name, rule, bound = unpack(cmsgpack.unpack(packed))
    local quiet = { schedule = true, tick = true, triage = true, watch = true, trouble = true, webhook = true, webhook_secret = true,
        webhook_incoming = true, webhook_incoming_secret = true, subscription = true, token = true, token_hash = true, session = true }
    if not quiet[kind] then
        call("SET", P .. "flow", 1)
    end
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
