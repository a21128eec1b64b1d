-- Attempts to deliver webhooks: keys `delivery:…` and so on, which nothing has filled yet. Code of schema 2 goes on beside them: it
-- delivers none. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 16 then
    call("SET", P .. "schema", 16)
end
return {}
