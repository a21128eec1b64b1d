-- Cancels waiting jobs, asks running ones to stop. ARGV: now, actor, ids. Returns per id what became of it.
-- uses: base batch record admit notify names audit
allow_oom()
local now, actor, results, asked = tonumber(ARGV[1]), ARGV[2], {}, false
for n = 3, #ARGV do
    local id = ARGV[n]
    local r = read_one(id)
    local result = not r and "missing" or "ended"
    if r and r[STATE] == "r" then
        result, asked = "cancelling", true
        r[CANCEL_AT] = r[CANCEL_AT] or now
        call("SADD", P .. "stop:" .. r[WORKER], id)
    elseif r and not ENDED[r[STATE]] then
        result = "cancelled"
        finish(r, id, "x", now, r[KEEP] and now + r[KEEP], "cancelled by " .. actor)
        r[CANCEL_AT] = now
    end
    if result ~= "missing" and result ~= "ended" then
        write(id, r)
        flush()
        audit(now, actor, "cancel", id, {})
    end
    results[#results + 1] = result
end
if asked then
    notify("cancel")
end
return results
