-- Lets rates permit no start for some time. ARGV: now, how many ms, slots. Returns how many.
-- uses: base batch
allow_oom()
local until_then = instant(ARGV[1]) + tonumber(ARGV[2])
for n = 3, #ARGV do
    local before = tonumber(call("HGET", P .. "pushed", ARGV[n]) or 0)
    call("HSET", P .. "pushed", ARGV[n], string.format("%.0f", math.max(before, until_then)))
end
return #ARGV - 2
