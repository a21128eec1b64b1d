-- Returns the registered workers: description; when each registered, when it last renewed its lease, whether it stops,
-- the end of its lease; how many jobs it runs.
-- uses: base
local rows, found = {}, call("ZRANGE", P .. "workers", 0, -1, "WITHSCORES")
for n = 1, #found, 2 do
    local id = found[n]
    rows[#rows + 1] = {
        id, call("HGET", P .. "worker", id), call("HGET", P .. "beat", id), found[n + 1], call("ZCARD", P .. "run:" .. id),
    }
end
return rows
