-- Applies transitions. ARGV: now, their worker, how many attempts report, their updates (parts/update.lua), transitions (parts/outcome.lua). Returns the
-- verdicts; "rules" as `claim` does.
-- uses: base batch record admit notify draft update code tally outcome -- rarely: lane rules examine parents breaker
if not flow and call("EXISTS", P .. "flow") == 1 then
    return "rules"
end
allow_oom()
local first, known = write_updates(ARGV, 4, tonumber(ARGV[3]))
local now = instant(ARGV[1])
local verdicts, queued = apply(ARGV, first, ARGV[2], now, known)
local more = made and made.settle(now)
if more or queued then
    notify("jobs")
end
return verdicts
