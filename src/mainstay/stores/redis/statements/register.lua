-- Registers a worker. ARGV: now, id, what it says of itself (JSON), lease. Its instants are those of the clock that judges.
-- uses: base
local now, id = instant(ARGV[1]), ARGV[2]
call("SREM", P .. "gone", id)
call("ZADD", P .. "workers", now + tonumber(ARGV[4]), id)
call("HSET", P .. "worker", id, ARGV[3])
call("HSET", P .. "beat", id, string.format("%.0f %.0f", now, now))
return 1
