-- One entry of the audit trail: in the hash `action` by its number, and by job in `acted`. It outlives its job.
local function audit(at, actor, action, id, detail)
    local number = call("INCR", P .. "actions")
    call("HSET", P .. "action", number, cjson.encode({ at, actor, action, id, detail }))
    call("ZADD", P .. "acted", 0, string.format("%s\0%012x", id, number))
end
