-- What the last review of a job asks, and what an operator asks of a worker: keys that nothing has filled yet. Code of schema 2 goes on
-- beside them, so no worker must stop. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 10 then
    call("SET", P .. "schema", 10)
end
return {}
