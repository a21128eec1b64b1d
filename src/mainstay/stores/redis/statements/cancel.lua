-- Cancels waiting jobs, asks running ones to stop. ARGV: see parts/audit.lua; then details that are the same for all (JSON). Returns per id what became of it.
-- uses: base batch record admit notify audit -- rarely: lane rules examine
local now, asked = tonumber(ARGV[2]), false
local results = each_job(function(r, id)
    local running = r[STATE] == "r"
    if ENDED[r[STATE]] then
        return "ended"
    elseif running then
        asked = true
        call("SADD", P .. "stop:" .. r[WORKER], id)
    else
        finish(r, id, "x", now, r[KEEP] and now + r[KEEP], "cancelled by " .. ARGV[3])
    end
    r[CANCEL_AT] = running and r[CANCEL_AT] or now
    write(id, r)
    flush()
    audit("cancel", id, cjson.decode(ARGV[#ARGV]))
    return running and "cancelling" or "cancelled"
end)
if made and made.settle(instant(ARGV[1])) then
    notify("jobs")
end
if asked then
    notify("cancel")
end
return results
