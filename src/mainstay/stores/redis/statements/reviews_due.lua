-- Reviews about which something is due, the longest due first. ARGV: now, limit. Returns the time, then id, what it asks, state and token of
-- each. Those of jobs that are gone are forgotten. Uses `review_due`.
-- uses: base batch record
local now = instant(ARGV[1])
local reply = { now }
local ids = call("ZRANGEBYSCORE", P .. "review_due", "-inf", now, "LIMIT", 0, ARGV[2])
local found, texts = read(ids), fetch("asked", ids)
for n, id in ipairs(ids) do
    local r = found[id]
    if r and texts[n] then
        reply[#reply + 1] = { id, texts[n], r[STATE], r[TOKEN] }
    else
        call("ZREM", P .. "review_due", id)
    end
end
return reply
