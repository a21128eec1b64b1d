-- Ends a review. ARGV: now, engine time, actor, the state that follows (c or d), reason, verb, note, bulk, job, its digest, the children
-- that the job kept, as text and as drafts (parts/draft.lua). Returns "" where it was ended, "changed" where it keeps other
-- children, otherwise the job's state, unmatched or missing.
-- uses: base batch record admit notify audit draft
allow_oom()
local now, state = tonumber(ARGV[1]), ARGV[4]
return each_job(9, function(r, id)
    if r[STATE] ~= "v" then
        return NAMES[r[STATE]]
    end
    if state == "c" and (call("HGET", P .. "children", id) or "") ~= ARGV[11] then
        return "changed"
    end
    finish(r, id, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[5])
    write(id, r)
    later("HDEL", P .. "children", id)
    flush()
    if #ARGV > 11 then
        accept(ARGV, 12, instant(ARGV[2]), true)
        notify("jobs")
    end
    audit(now, ARGV[3], ARGV[6], id, { note = ARGV[7] }, ARGV[8])
    return ""
end, 9)
