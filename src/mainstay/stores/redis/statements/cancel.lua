-- Cancels what waits, asks what runs to stop. ARGV: now, actor, ids. Answers per id what became of it.
-- uses: base batch record place notify names audit
allow_oom()
local now, actor, answers, asked = tonumber(ARGV[1]), ARGV[2], {}, false
for n = 3, #ARGV do
    local id = ARGV[n]
    local r = read_one(id)
    local answer = not r and "missing" or "ended"
    if r and r[STATE] == "r" then
        answer, asked = "cancelling", true
        r[CANCEL] = r[CANCEL] or now
        call("SADD", P .. "stop:" .. r[WORKER], id)
    elseif r and not ENDED[r[STATE]] then
        answer = "cancelled"
        leave(r, id)
        finish(r, "x", now, r[KEEP] and now + r[KEEP], "cancelled by " .. actor)
        r[CANCEL] = now
        enter(r, id)
    end
    if answer ~= "missing" and answer ~= "ended" then
        write(id, r)
        flush()
        audit(now, actor, "cancel", id, {})
    end
    answers[#answers + 1] = answer
end
if asked then
    notify("cancel")
end
return answers
