-- Cancels waiting jobs, asks running ones to stop. ARGV: see parts/audit.lua; then details that are the same for all (JSON). Returns per id what became of it.
-- uses: base batch record admit notify audit cancel -- rarely: lane rules examine
local now, asked = tonumber(ARGV[2]), false
local results = each_job(function(r, id)
    local result = cancel(r, id, now, ARGV[3])
    asked = asked or result == "cancelling"
    if result ~= "ended" then
        audit("cancel", id, cjson.decode(ARGV[#ARGV]))
    end
    return result
end)
if made and made.settle(instant(ARGV[1])) then
    notify("jobs")
end
if asked then
    notify("cancel")
end
return results
