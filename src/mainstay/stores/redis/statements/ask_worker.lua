-- Asks a worker to stop. It reads this when it renews its lease. A stop is not turned into a drain. ARGV: now, worker, what, the entry of
-- the audit trail. Returns 1, or 0 where no live worker has that name.
-- uses: base audit notify
local now, worker = instant(ARGV[1]), ARGV[2]
if tonumber(call("ZSCORE", P .. "workers", worker) or 0) <= now then
    return 0
end
if call("HGET", P .. "wanted", worker) ~= "stop" then
    call("HSET", P .. "wanted", worker, ARGV[3])
end
add_action("", ARGV[4])
notify("cancel")
return 1
