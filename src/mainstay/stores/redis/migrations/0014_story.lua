-- What a handler says about its progress beside numbers (the hash `details`), and the jobs that have warnings or errors in their logs (the
-- set `warned`): nothing has filled them yet, and older lines are not in the set. Code of schema 2 goes on beside them, so no worker
-- must stop. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 14 then
    call("SET", P .. "schema", 14)
end
return {}
