-- Deliveries to an endpoint, the newest first. ARGV: endpoint, how many (0: all). Returns three values each: its instant, name and values.
-- uses: base
local found = {}
local names = call("ZREVRANGE", P .. "delivered:" .. ARGV[1], 0, tonumber(ARGV[2]) - 1, "WITHSCORES")
for n = 1, #names, 2 do
    found[#found + 1] = names[n + 1]
    found[#found + 1] = names[n]
    found[#found + 1] = call("HGET", P .. "delivery:" .. ARGV[1], names[n])
end
return found
