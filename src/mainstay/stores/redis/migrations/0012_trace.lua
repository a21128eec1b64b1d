-- The span that enqueued a job: a field of the last line of its header, which no job has yet. Code of schema 2 goes on beside it, so no
-- worker must stop. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 12 then
    call("SET", P .. "schema", 12)
end
return {}
