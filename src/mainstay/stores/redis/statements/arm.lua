-- Before a worker blocks on its bell: arms it, or rings it at once when there were rings since it last looked.
-- ARGV: worker, the rings it knows of as "jobs cancel". Answers those there are now.
-- uses: base
local counts = call("HMGET", P .. "rings", "jobs", "cancel")
local jobs, cancel = counts[1] or "0", counts[2] or "0"
local now = jobs .. " " .. cancel
local bell = P .. "bell:" .. ARGV[1]
call("DEL", bell)
if now == ARGV[2] then
    call("SADD", P .. "armed", ARGV[1])
else
    local missed = cancel ~= string.match(ARGV[2], " (.*)$") and "cancel " or "jobs "
    call("RPUSH", bell, missed .. now)
    call("PEXPIRE", bell, 60000)
end
return now
