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

-- Returns a text that differs whenever the record or the payload of a job does.
local function digest(id)
    return redis.sha1hex((call("HGET", P .. "job", id) or "") .. "\0" .. (call("HGET", P .. "payload", id) or ""))
end

-- Runs `act` on the record and id of each job from place `first` of ARGV on: ids, each with the digest
-- that the job must still have ("": any). Returns per id what became of it.
local function each_job(first, act, last)
    local results = {}
    for n = first, last or #ARGV, 2 do
        local id, wanted = ARGV[n], ARGV[n + 1]
        local r = read_one(id)
        local changed = r and wanted ~= "" and digest(id) ~= wanted
        results[#results + 1] = not r and "missing" or changed and "unmatched" or act(r, id)
    end
    return results
end
