-- Ends a review. ARGV: now, actor, id, the state that follows (c or d), reason, verb, note. Returns "" where it was ended,
-- otherwise the job's state, or missing.
-- uses: base batch record admit names audit
local now, actor, id, state = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local r = read_one(id)
if not r or r[STATE] ~= "v" then
    return r and NAMES[r[STATE]] or "missing"
end
allow_oom()
finish(r, id, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[5])
write(id, r)
flush()
audit(now, actor, ARGV[6], id, { note = ARGV[7] })
return ""
