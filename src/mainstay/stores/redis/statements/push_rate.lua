-- Lets rates permit no start for some time. ARGV: now, how many ms, slots. Returns how many. The hash `pushed` has until when, and since when.
-- uses: base batch
allow_oom()
local now = instant(ARGV[1])
local until_then = now + tonumber(ARGV[2])
for n = 3, #ARGV do
    local before, since = string.match(call("HGET", P .. "pushed", ARGV[n]) or "0 0", "(%d+) (%d+)")
    before = tonumber(before) - math.max(0, tonumber(since) - now) -- the clock may have been set back
    if before < until_then then
        call("HSET", P .. "pushed", ARGV[n], string.format("%.0f %.0f", until_then, now))
    end
end
return #ARGV - 2
