-- How many jobs of a type are kept: the set `kept` and the sets `kept:…`, which nothing has filled yet. Code of schema 2 goes on
-- beside them, so no worker must stop. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 11 then
    call("SET", P .. "schema", 11)
end
return {}
