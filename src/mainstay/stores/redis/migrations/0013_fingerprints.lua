-- Of what a dead job died: the hash `fingerprint`, which nothing has filled yet. Code of schema 2 goes on beside it; a chore of a newer
-- worker fills in what it leaves empty, and what was dead before. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 13 then
    call("SET", P .. "schema", 13)
end
return {}
