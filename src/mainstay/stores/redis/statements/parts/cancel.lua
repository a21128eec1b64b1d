-- Cancels a waiting job, or asks a running one to stop. Returns what became of it; the audit trail is the caller's.
local function cancel(r, id, now, actor)
    local running = r[STATE] == "r"
    if ENDED[r[STATE]] then
        return "ended"
    elseif running then
        call("SADD", P .. "stop:" .. r[WORKER], id)
    else
        finish(r, id, "x", now, r[KEEP] and now + r[KEEP], "cancelled by " .. actor)
    end
    r[CANCEL_AT] = running and r[CANCEL_AT] or now
    write(id, r)
    flush()
    return running and "cancelling" or "cancelled"
end
