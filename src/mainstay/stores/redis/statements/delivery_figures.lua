-- How the deliveries to an endpoint went. ARGV: endpoint, an instant. Returns how many failed since then, succeeded, and failed; the ms that
-- those took which succeeded, and the instant of the last of them (0: none).
-- uses: base
local succeeded, failed, ms, last = 0, 0, 0, 0
local names = call("ZRANGE", P .. "delivered:" .. ARGV[1], 0, -1, "WITHSCORES")
for n = 1, #names, 2 do
    local values = cjson.decode(call("HGET", P .. "delivery:" .. ARGV[1], names[n])) -- attempt, status, ms, error, answer
    if values[4] == cjson.null then
        succeeded, ms, last = succeeded + 1, ms + values[3], tonumber(names[n + 1])
    else
        failed = failed + 1
    end
end
return { call("ZCOUNT", P .. "failed:" .. ARGV[1], ARGV[2], "+inf"), succeeded, failed, ms, last }
