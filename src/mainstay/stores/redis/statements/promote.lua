-- Queues scheduled jobs whose time has come, the longest due first. ARGV: now, limit. Answers how many.
-- uses: base batch record place notify
local count = promote(instant(ARGV[1]), tonumber(ARGV[2]))
if count > 0 then
    notify("jobs")
end
return count
