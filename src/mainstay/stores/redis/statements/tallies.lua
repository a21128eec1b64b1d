-- Returns the counters of minutes and hours, added up in steps: the beginning of each step, and its fields and numbers. ARGV: the lowest and the highest
-- minute, how many minutes a step has; for all that was ever counted 0, +inf and 0.
-- uses: base
local low, high, step = ARGV[1], ARGV[2], tonumber(ARGV[3])
local minutes = call("ZRANGEBYSCORE", P .. "tallies", low, "(" .. high)
if step > 0 then
    for _, hour in ipairs(call("ZRANGEBYSCORE", P .. "tallies", "(-" .. high, "-" .. low)) do
        minutes[#minutes + 1] = hour
    end
end
local sums, reply = {}, {}
for _, minute in ipairs(minutes) do
    local at = math.abs(minute)
    at = step > 0 and at - at % step or 0
    sums[at] = sums[at] or {}
    local into, found = sums[at], call("HGETALL", P .. "tally:" .. minute)
    for n = 1, #found, 2 do
        into[found[n]] = (into[found[n]] or 0) + found[n + 1]
    end
end
for at, into in pairs(sums) do
    local flat = {}
    for field, n in pairs(into) do
        flat[#flat + 1] = field
        flat[#flat + 1] = string.format("%.0f", n)
    end
    reply[#reply + 1] = at
    reply[#reply + 1] = flat
end
return reply
