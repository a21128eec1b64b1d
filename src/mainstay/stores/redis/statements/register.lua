-- Registers a worker. ARGV: now, id, its description (JSON), lease, what it takes (JSON). Its instants are those of the engine's clock.
-- uses: base
local now, id = instant(ARGV[1]), ARGV[2]
call("SREM", P .. "gone", id)
call("HDEL", P .. "wanted", id)
call("ZADD", P .. "workers", now + tonumber(ARGV[4]), id)
call("HSET", P .. "worker", id, ARGV[3])
call("HSET", P .. "declared", id, ARGV[5])
call("HSET", P .. "beat", id, string.format("%.0f %.0f", now, now))
return 1
