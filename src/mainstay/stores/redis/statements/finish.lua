-- Applies transitions. ARGV: now, how many updates, updates (parts/update.lua), transitions (parts/outcome.lua). Returns the
-- verdicts.
-- uses: base batch record admit notify draft update outcome
allow_oom()
local updates = tonumber(ARGV[2])
write_updates(ARGV, 3, updates)
local first = 3 + updates * 5
local verdicts, news = apply(ARGV, first, (#ARGV - first + 1) / 6, instant(ARGV[1]))
if news then
    notify("jobs")
end
return verdicts
