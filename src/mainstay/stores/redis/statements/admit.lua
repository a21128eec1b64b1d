-- Examines blocked jobs that may have been missed, and mends holds: goes on with what a changed rule began, then looks at the next
-- lines and at the next jobs that wait for parents. ARGV: now, how many to look at, "1" to go on with changed rules only. Returns how
-- many jobs and holds were changed, and 1 while changed rules are to be gone on with.
-- uses: base batch record admit notify -- rarely: lane rules examine walk
if call("EXISTS", P .. "lines", P .. "counting", P .. "walks") == 0 then
    return { 0, 0 }
end
allow_oom()
local changed, news, more = flow().go_on(instant(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == "1")
if news then
    notify("jobs")
end
return { changed, more }
