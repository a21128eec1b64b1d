-- Prepares a worker to block on its marker: arms it, or sets the marker at once where it missed a notification.
-- ARGV: worker, the notifications it has seen as "jobs cancel". Returns their counts now.
-- uses: base notify
local seen = notifications()
call("DEL", P .. "bell:" .. ARGV[1])
if seen == ARGV[2] then
    call("SADD", P .. "armed", ARGV[1])
else
    local missed_cancel = string.match(seen, " (.*)$") ~= string.match(ARGV[2], " (.*)$")
    set_marker(ARGV[1], missed_cancel and "cancel" or "jobs", seen)
end
return seen
