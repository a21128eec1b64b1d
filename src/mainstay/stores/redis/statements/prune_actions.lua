-- Deletes entries of the audit trail that are older than `keep` ms, of the `limit` oldest. ARGV: now, keep, limit. Returns how
-- many. The key `first_action` has the number of the oldest one.
-- uses: base batch
allow_oom()
local before = instant(ARGV[1]) - tonumber(ARGV[2])
local first, last = tonumber(call("GET", P .. "first_action") or 1), tonumber(call("GET", P .. "actions") or 0)
local deleted = 0
for number = first, math.min(last, first + tonumber(ARGV[3]) - 1) do
    local entry = cjson.decode(call("HGET", P .. "action", number))
    if entry[1] >= before then
        break
    end
    local bulk = call("HGET", P .. "bulk_of", number)
    call("HDEL", P .. "action", number)
    if bulk then
        call("HDEL", P .. "bulk_of", number)
        call("HDEL", P .. "bulk", bulk)
    elseif type(entry[4]) == "string" then
        call("ZREM", P .. "acted", string.format("%s\0%012x", entry[4], number))
    end
    deleted = deleted + 1
end
if deleted > 0 then
    call("SET", P .. "first_action", first + deleted)
end
return deleted
