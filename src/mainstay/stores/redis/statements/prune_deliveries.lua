-- Deletes deliveries that are older than `keep` ms. ARGV: now, keep, limit. Returns how many.
-- uses: base batch
allow_oom()
local before, left = string.format("(%d", instant(ARGV[1]) - tonumber(ARGV[2])), tonumber(ARGV[3])
for _, endpoint in ipairs(call("ZRANGE", P .. "deliveries", 0, -1)) do
    local order = P .. "delivered:" .. endpoint
    local old = left > 0 and call("ZRANGEBYSCORE", order, "-inf", before, "LIMIT", 0, left) or {}
    many("ZREM", order, old)
    many("HDEL", P .. "delivery:" .. endpoint, old)
    many("ZREM", P .. "failed:" .. endpoint, old)
    left = left - #old
    if call("EXISTS", order) == 0 then
        call("ZREM", P .. "deliveries", endpoint)
    end
end
return tonumber(ARGV[3]) - left
