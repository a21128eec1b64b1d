-- Deletes up to `limit` ended jobs whose retention is over, the longest over first. ARGV: now, limit. Answers how many.
-- uses: base batch record place remove
local ids = call("ZRANGEBYSCORE", P .. "expiry", "-inf", instant(ARGV[1]), "LIMIT", 0, tonumber(ARGV[2]))
remove(read(ids))
return #ids
