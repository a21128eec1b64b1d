-- What happened, counted by minute and type: the hashes `tally:…`, which nothing has filled yet. Code of schema 2 goes on beside
-- them: what it does is not counted. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
local version = tonumber(call("GET", P .. "schema") or 0)
if version >= 2 and version < 15 then
    call("SET", P .. "schema", 15)
end
return {}
