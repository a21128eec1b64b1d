-- Ends a review. ARGV: now, actor, the state that follows (c or d), reason, verb, note, id. Returns per id what became of
-- it: "" where it was ended, otherwise the job's state, or missing.
-- uses: base batch record admit audit
allow_oom()
local now, actor, state = tonumber(ARGV[1]), ARGV[2], ARGV[3]
return each_job(7, function(r, id)
    if r[STATE] ~= "v" then
        return NAMES[r[STATE]]
    end
    finish(r, id, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[4])
    write(id, r)
    flush()
    audit(now, actor, ARGV[5], id, { note = ARGV[6] })
    return ""
end)
