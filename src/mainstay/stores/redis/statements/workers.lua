-- Returns the registered workers: description; when each registered, when it last renewed its lease, whether it stops,
-- the end of its lease; how many jobs it runs; what it takes. ARGV: now, to leave out those whose lease is over; none: all.
-- uses: base
local over = ARGV[1] and "(" .. string.format("%.0f", instant(ARGV[1])) or "-inf"
local rows, found = {}, call("ZRANGEBYSCORE", P .. "workers", over, "+inf", "WITHSCORES")
for n = 1, #found, 2 do
    local id = found[n]
    rows[#rows + 1] = {
        id, call("HGET", P .. "worker", id), call("HGET", P .. "beat", id), found[n + 1], call("ZCARD", P .. "run:" .. id),
        call("HGET", P .. "declared", id) or "[]",
    }
end
return rows
