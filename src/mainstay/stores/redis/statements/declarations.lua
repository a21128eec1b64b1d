-- Returns what each live worker takes (JSON), without those that are stopping. ARGV: now.
-- uses: base
local found = {}
for _, worker in ipairs(call("ZRANGEBYSCORE", P .. "workers", "(" .. string.format("%.0f", instant(ARGV[1])), "+inf")) do
    if not string.find(call("HGET", P .. "beat", worker), "stopping", 1, true) then
        found[#found + 1] = call("HGET", P .. "declared", worker) or "[]"
    end
end
return found
