-- Cancels up to `limit` waiting jobs that had to start by an instant that has passed. ARGV: now, the caller's time, limit. Returns how
-- many. Uses `start_by`.
-- uses: base batch record admit notify -- rarely: lane rules examine
local now, at = instant(ARGV[1]), tonumber(ARGV[2])
local ids = call("ZRANGEBYSCORE", P .. "start_by", "-inf", now, "LIMIT", 0, math.min(500, tonumber(ARGV[3])))
if #ids == 0 then
    return 0
end
allow_oom()

-- Returns an instant as ISO 8601 in UTC. The days are counted in years that begin in March: a leap day is then their last.
local function iso(ms)
    local seconds = math.floor(ms / 1000)
    local days = math.floor(seconds / 86400) + 719468
    local era = math.floor(days / 146097)
    local day = days - era * 146097
    local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
    day = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
    local month = math.floor((5 * day + 2) / 153)
    day = day - math.floor((153 * month + 2) / 5) + 1
    month = month < 10 and month + 3 or month - 9
    year = year + era * 400 + (month <= 2 and 1 or 0)
    local hour, minute = math.floor(seconds / 3600) % 24, math.floor(seconds / 60) % 60
    return string.format("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day, hour, minute, seconds % 60, ms % 1000)
end

for id, r in pairs(read(ids)) do
    finish(r, id, "x", at, r[KEEP] and at + r[KEEP], "not started by " .. iso(r[START_BY]))
    write(id, r)
end
flush()
if made and made.settle(now) then
    notify("jobs")
end
return #ids
