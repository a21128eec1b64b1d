-- What operators do to jobs, and the audit trail: an entry is in the hash `action` by its number, and by job in `acted`. It
-- outlives its job.
local NAMES = { -- of the states, as people and the audit trail know them
    q = "queued", s = "scheduled", b = "blocked", r = "running", v = "review", c = "completed", x = "cancelled", d = "dead",
}

local function add_action(id, entry)
    local number = call("INCR", P .. "actions")
    call("HSET", P .. "action", number, entry)
    if id ~= "" then
        call("ZADD", P .. "acted", 0, string.format("%s\0%012x", id, number))
    end
end

local function audit(at, actor, action, id, detail)
    add_action(id, cjson.encode({ at, actor, action, id, detail }))
end

-- Runs `act` on the record and id of each job from place `first` of ARGV on. Returns per id what became of it.
local function each_job(first, act)
    local results = {}
    for n = first, #ARGV do
        local r = read_one(ARGV[n])
        results[#results + 1] = r and act(r, ARGV[n]) or "missing"
    end
    return results
end
