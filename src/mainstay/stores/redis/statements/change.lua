-- Gives jobs another queue, priority, time or payload (core/change.py). ARGV: see parts/audit.lua; then per job "" or, as JSON, why it
-- is refused ({refused}) or what it becomes: lane, priority, header, ord, run_at, rules, waits, detail; with another key lock, name
-- and the terms of the old and the new one; with another payload payload. Returns per id what became of it.
-- uses: base batch record admit notify audit -- rarely: lane rules examine
local now, first = tonumber(ARGV[2]), 5 + tonumber(ARGV[5])

-- Lets a job hold another key, as long as it holds the one that it has; one that was taken for ever stays taken.
local function change_key(r, id, want)
    local key, kept = r[LOCK], call("HGET", P .. "key", r[LOCK])
    if r[HELD] then
        later("HDEL", P .. "lock", key)
        later("HSET", P .. "lock", want.lock, id)
    end
    if kept and string.match(kept, "^%S+") == id then
        later("HSET", P .. "key", want.lock, string.format("%s %.0f", id, now))
        later("ZADD", P .. "keys", 0, want.name .. "\0" .. string.match(want.lock, "^[^:]*"))
    end
    r[LOCK] = want.lock
    for n, term in ipairs(r[TERMS] or {}) do
        if term == want.terms[1] then
            later("ZREM", P .. "terms", term .. id)
            later("ZADD", P .. "terms", 0, want.terms[2] .. id)
            r[TERMS][n] = want.terms[2]
        end
    end
end

local function change_payload(id, payload)
    later("HSET", P .. "payload", id, payload)
    for _, hash in ipairs({ "checkpoint", "progress", "details", "result" }) do -- the new work must not start where the old one stopped
        later("HDEL", P .. hash, id)
    end
end

local results = each_job(function(r, id, n)
    local want = cjson.decode(ARGV[first + n])
    if want.refused then
        return want.refused
    end
    local holder = want.lock and r[LOCK] and (r[HELD] or call("HEXISTS", P .. "key", r[LOCK]) == 1) and holder_of(want.lock)
    if holder and holder ~= id then
        return "duplicate " .. holder .. " " .. want.name
    end
    local waiting = string.find("qsb", r[STATE], 1, true)
    if waiting then
        index("ZREM", r, id)
    end
    if want.rules then
        flow().extend(r)
    end
    if r[RULES] ~= nil then
        r[RULES], r[WAITS], r[RATED] = want.rules or false, false, false
    end
    r[LANE], r[PRIORITY], r[HEADER], r[RUN_AT] = want.lane, want.priority, want.header, want.run_at or false
    if want.lock and r[LOCK] then
        change_key(r, id, want)
    end
    if want.payload then
        change_payload(id, want.payload)
    end
    if waiting then
        admit(r, id, r[RUN_AT] and r[RUN_AT] > now, want.ord, r[RULES] and want.waits)
    end
    write(id, r)
    flush()
    audit(want.action, id, want.detail)
    return "changed"
end)
if made then
    made.settle(instant(ARGV[1]))
end
notify("jobs")
return results
