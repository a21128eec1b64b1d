-- Deletes up to `limit` ended jobs whose retention is over, the oldest first. One for which a child waits is kept: it is looked at
-- again after a while. ARGV: now, limit. Returns how many were deleted, and how many were looked at.
-- uses: base batch record admit remove -- rarely: lane rules
local AGAIN = 60000 -- ms
local now = instant(ARGV[1])
local ids = call("ZRANGEBYSCORE", P .. "expiry", "-inf", now, "LIMIT", 0, tonumber(ARGV[2]))
local found, deleted = read(ids), #ids
for id, r in pairs(found) do
    if r[AWAITED] and call("ZLEXCOUNT", P .. "after", "[p" .. id .. "\0", "(p" .. id .. "\1") > 0 then
        found[id], deleted = nil, deleted - 1
        call("ZADD", P .. "expiry", now + AGAIN, id)
    end
end
remove(found)
return { deleted, #ids }
