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

local SINGLE = { run_at = true, payload = true, before = true, after = true } -- details that differ from job to job: a line about many jobs lacks them

local function count(total, name, value)
    total[name] = total[name] or {}
    total[name][value] = (total[name][value] or 0) + 1
end

-- Adds the detail of one job to that of a bulk action, as core/bulk.py does.
local function tally(total, detail)
    total.jobs = total.jobs + 1
    for name, value in pairs(detail) do
        if name == "note" or name == "declared" then
            total[name] = value
        elseif not SINGLE[name] then
            count(total, name, value)
        end
    end
end

-- Every action has in ARGV: the engine's time, the caller's, actor, bulk (a bulk action as JSON, see core/bulk.py, or ""), how many
-- values name the jobs: ids, each with the digest that the job must still have ("": any).
local acted = {} -- what a bulk action has done in this call: action, id and detail
local function audit(action, id, detail)
    if ARGV[4] == "" then
        return add_action(id, cjson.encode({ tonumber(ARGV[2]), ARGV[3], action, id, detail }))
    end
    acted[#acted + 1] = { action, id, detail }
end

-- Adds what an operation tells beside the counts to the detail of its line; and how many jobs it did not change, by reason.
local function tell(total, bulk, results, changed)
    for name, value in pairs(bulk.told) do
        total[name] = value ~= cjson.null and value or nil
    end
    for _, reason in ipairs(bulk.refused) do
        count(total, "refused", reason)
    end
    for n, result in ipairs(results) do
        local again = result == "unmatched" and ARGV[5 + 2 * n] ~= "-" or result == "changed" -- the caller tries it again
        if not changed[ARGV[4 + 2 * n]] and not again then
            count(total, "refused", string.match(result, "^%S*"))
        end
    end
end

-- Returns a bulk action, its number and its entry where there is one, and whether another process works on it.
local function bulk_line()
    local bulk = cjson.decode(ARGV[4])
    local number = call("HGET", P .. "bulk", bulk.id)
    local entry = number and cjson.decode(call("HGET", P .. "action", number)) or nil
    local place = entry and entry[5].place or nil
    local busy = bulk.was ~= cjson.null and place ~= bulk.was
    return bulk, number, entry, busy
end

-- Writes the entry of a bulk action, or adds to it what this call has done.
local function write_line(results)
    local bulk, number, entry = bulk_line()
    local operation, changed = next(bulk.told) ~= nil, {}
    if #acted == 0 and not operation then
        return
    end
    local action = bulk.action ~= "" and bulk.action or acted[1][1]
    entry = entry or { tonumber(ARGV[2]), ARGV[3], action, cjson.null, { jobs = 0 } }
    for _, each in ipairs(acted) do
        local id = each[2]
        changed[id] = true
        tally(entry[5], each[3])
        if each[1] ~= "delete" then
            local before = call("HGET", P .. "bulks", id)
            call("HSET", P .. "bulks", id, before and before .. " " .. bulk.id or bulk.id)
        end
    end
    if operation then
        tell(entry[5], bulk, results, changed)
    end
    if number then
        call("HSET", P .. "action", number, cjson.encode(entry))
    else
        add_action("", cjson.encode(entry), bulk.id)
    end
end

-- Returns a text that differs whenever the record or the payload of a job does.
local function digest(id)
    return redis.sha1hex((call("HGET", P .. "job", id) or "") .. "\0" .. (call("HGET", P .. "payload", id) or ""))
end

-- Runs `act` on the record, the id and the place of each job. Returns per id what became of it; for all "busy", nothing done, where another process
-- works on the operation.
local function each_job(act)
    allow_oom()
    local results, busy = {}, false
    if ARGV[4] ~= "" then
        busy = select(4, bulk_line())
    end
    for n = 6, 5 + tonumber(ARGV[5]), 2 do
        local id, wanted = ARGV[n], ARGV[n + 1]
        local r = not busy and read_one(id)
        local changed = r and wanted ~= "" and digest(id) ~= wanted
        results[#results + 1] = busy and "busy" or not r and "missing" or changed and "unmatched" or act(r, id, n / 2 - 2)
    end
    if ARGV[4] ~= "" and not busy then
        write_line(results)
    end
    return results
end
