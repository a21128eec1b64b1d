-- Cancels waiting jobs, asks running ones to stop. ARGV: now, actor, bulk, jobs (parts/audit.lua). Returns per id what became of it.
-- uses: base batch record admit notify audit
allow_oom()
local now, actor, asked = tonumber(ARGV[1]), ARGV[2], false
local results = each_job(4, function(r, id)
    local running = r[STATE] == "r"
    if ENDED[r[STATE]] then
        return "ended"
    elseif running then
        asked = true
        call("SADD", P .. "stop:" .. r[WORKER], id)
    else
        finish(r, id, "x", now, r[KEEP] and now + r[KEEP], "cancelled by " .. actor)
    end
    r[CANCEL_AT] = running and r[CANCEL_AT] or now
    write(id, r)
    flush()
    audit(now, actor, "cancel", id, {}, ARGV[3])
    return running and "cancelling" or "cancelled"
end)
if asked then
    notify("cancel")
end
return results
