-- Deletes up to `limit` ended jobs whose retention is over, the oldest first. ARGV: now, limit. Returns how many.
-- uses: base batch record admit remove
local ids = call("ZRANGEBYSCORE", P .. "expiry", "-inf", instant(ARGV[1]), "LIMIT", 0, tonumber(ARGV[2]))
remove(read(ids))
return #ids
