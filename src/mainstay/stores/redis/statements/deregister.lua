-- Removes a worker; the jobs that it still runs are orphans at once. ARGV: now, worker, "1" where another process found it dead.
-- uses: base batch stall deregister
revive(instant(ARGV[1]))
local returned = ARGV[3] ~= "1" and call("HEXISTS", P .. "stalled", ARGV[2]) == 1
deregister(ARGV[2])
if returned then
    call("HSET", P .. "stalled", ARGV[2], "returned")
end
return 1
