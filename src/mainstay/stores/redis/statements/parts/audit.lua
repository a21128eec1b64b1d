-- What operators do to jobs, and the audit trail: an entry is in the hash `action` by its number, and by job in `acted`. It
-- outlives its job. A bulk action is one entry for many jobs: its number is in the hash `bulk` by its id, its id in `bulk_of`
-- by its number, and each job has the ids in the hash `bulks`.
local NAMES = { -- of the states, as people and the audit trail know them
    q = "queued", s = "scheduled", b = "blocked", r = "running", v = "review", c = "completed", x = "cancelled", d = "dead",
}

local function add_action(id, entry, bulk)
    local number = call("INCR", P .. "actions")
    call("HSET", P .. "action", number, entry)
    if id ~= "" then
        call("ZADD", P .. "acted", 0, string.format("%s\0%012x", id, number))
    elseif bulk then
        call("HSET", P .. "bulk", bulk, number)
        call("HSET", P .. "bulk_of", number, bulk)
    end
end

-- Adds the detail of one job to that of a bulk action, as core/bulk.py does.
local function tally(total, detail)
    total.jobs = total.jobs + 1
    for name, value in pairs(detail) do
        if name == "note" or name == "declared" then
            total[name] = value
        else
            total[name] = total[name] or {}
            total[name][value] = (total[name][value] or 0) + 1
        end
    end
end

-- Every action has in ARGV: the engine's time, the caller's, actor, bulk (the id of a bulk action, or ""), how many values
-- name the jobs: ids, each with the digest that the job must still have ("": any).
local function audit(action, id, detail)
    local at, actor, bulk = tonumber(ARGV[2]), ARGV[3], ARGV[4]
    if bulk == "" then
        return add_action(id, cjson.encode({ at, actor, action, id, detail }))
    end
    local number = call("HGET", P .. "bulk", bulk)
    local entry = number and cjson.decode(call("HGET", P .. "action", number)) or { at, actor, action, cjson.null, { jobs = 0 } }
    tally(entry[5], detail)
    if number then
        call("HSET", P .. "action", number, cjson.encode(entry))
    else
        add_action("", cjson.encode(entry), bulk)
    end
    if action ~= "delete" then
        local before = call("HGET", P .. "bulks", id)
        call("HSET", P .. "bulks", id, before and before .. " " .. bulk or bulk)
    end
end

-- Returns a text that differs whenever the record or the payload of a job does.
local function digest(id)
    return redis.sha1hex((call("HGET", P .. "job", id) or "") .. "\0" .. (call("HGET", P .. "payload", id) or ""))
end

-- Runs `act` on the record and id of each job. Returns per id what became of it.
local function each_job(act)
    allow_oom()
    local results = {}
    for n = 6, 5 + tonumber(ARGV[5]), 2 do
        local id, wanted = ARGV[n], ARGV[n + 1]
        local r = read_one(id)
        local changed = r and wanted ~= "" and digest(id) ~= wanted
        results[#results + 1] = not r and "missing" or changed and "unmatched" or act(r, id)
    end
    return results
end
