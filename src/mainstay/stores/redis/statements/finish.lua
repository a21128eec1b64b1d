-- Applies transitions. ARGV: now, how many notes, notes (parts/update.lua), transitions (parts/outcome.lua).
-- uses: base batch record place notify draft update outcome
allow_oom()
local notes = tonumber(ARGV[2])
write_updates(ARGV, 3, notes)
local first = 3 + notes * 5
local verdicts, news = apply(ARGV, first, (#ARGV - first + 1) / 5, instant(ARGV[1]))
if news then
    notify("jobs")
end
return verdicts
