-- Registered workers: the description each registered with; when it registered, when it last renewed and whether it stops;
-- when its lease runs out; how many jobs it holds.
-- uses: base
local rows, found = {}, call("ZRANGE", P .. "workers", 0, -1, "WITHSCORES")
for n = 1, #found, 2 do
    local id = found[n]
    rows[#rows + 1] = {
        id, call("HGET", P .. "worker", id), call("HGET", P .. "beat", id), found[n + 1], call("ZCARD", P .. "run:" .. id),
    }
end
return rows
