-- Adds old minutes to their hours and to the sum of all (the hash `tally:0`), and removes old hours. ARGV: the first minute of the first hour that is
-- not over, the minute before which hours are removed, how many minutes at most. Returns whether there are more.
-- uses: base
call("DEL", P .. "tally:") -- needs no memory, so a server that is full accepts what follows
local limit = tonumber(ARGV[3])
for _, minute in ipairs(call("ZRANGEBYSCORE", P .. "tallies", "(0", "(" .. ARGV[1], "LIMIT", 0, limit)) do
    local hour = minute - minute % 60
    local found = call("HGETALL", P .. "tally:" .. minute)
    for n = 1, #found, 2 do
        call("HINCRBY", P .. "tally:" .. -hour, found[n], found[n + 1])
        call("HINCRBY", P .. "tally:0", found[n], found[n + 1])
    end
    call("ZADD", P .. "tallies", -hour, -hour, 0, 0)
    call("ZREM", P .. "tallies", minute)
    call("DEL", P .. "tally:" .. minute)
    limit = limit - 1
end
for _, hour in ipairs(call("ZRANGEBYSCORE", P .. "tallies", "(-" .. ARGV[2], "(0")) do
    call("ZREM", P .. "tallies", hour)
    call("DEL", P .. "tally:" .. hour)
end
return limit == 0 and 1 or 0
