-- Registered workers: id, description, when each registered and last renewed and whether it is stopping, the end of its
-- lease, how many jobs it runs.
-- uses: base
local rows, found = {}, call("ZRANGE", P .. "workers", 0, -1, "WITHSCORES")
for n = 1, #found, 2 do
    local id = found[n]
    rows[#rows + 1] = {
        id, call("HGET", P .. "worker", id), call("HGET", P .. "beat", id), found[n + 1], call("ZCARD", P .. "run:" .. id),
    }
end
return rows
