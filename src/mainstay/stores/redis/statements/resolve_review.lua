-- Ends a review. ARGV: now, actor, id, the state that follows (c or d), reason, verb, note.
-- Answers "" when it is done, else the state the job is in, or missing.
-- uses: base batch record place names audit
local now, actor, id, state = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local r = read_one(id)
if not r or r[STATE] ~= "v" then
    return r and NAMES[r[STATE]] or "missing"
end
allow_oom()
leave(r, id)
finish(r, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[5])
enter(r, id)
write(id, r)
flush()
audit(now, actor, ARGV[6], id, { note = ARGV[7] })
return ""
