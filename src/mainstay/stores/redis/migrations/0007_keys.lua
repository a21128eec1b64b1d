-- Keys that are taken for ever: the hash `key` and the set `keys`, which nothing has filled yet. Code of schema 2 goes on beside
-- them, so no worker must stop. KEYS[1]: the prefix. Returns the workers that must stop.
local P, call = KEYS[1], redis.call
if call("GET", P .. "schema") == "2" then
    call("SET", P .. "schema", 7)
end
return {}
