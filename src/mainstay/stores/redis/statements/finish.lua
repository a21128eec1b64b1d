-- Applies transitions. ARGV: now, their worker, how many updates, updates (parts/update.lua), transitions (parts/outcome.lua). Returns the
-- verdicts.
-- uses: base batch record admit notify draft update code outcome
allow_oom()
local updates = tonumber(ARGV[3])
write_updates(ARGV, 4, updates)
local first = 4 + updates * 5
local verdicts, news = apply(ARGV, first, ARGV[2], instant(ARGV[1]))
if news then
    notify("jobs")
end
return verdicts
