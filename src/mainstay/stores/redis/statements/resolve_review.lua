-- Ends a review. ARGV: now, engine time, actor, id, the state that follows (c or d), reason, verb, note, the children that the
-- job kept, as text and as drafts (parts/draft.lua). Returns "" where it was ended, "changed" where it keeps other children,
-- otherwise the job's state, or missing.
-- uses: base batch record admit notify names audit draft
local now, actor, id, state = tonumber(ARGV[1]), ARGV[3], ARGV[4], ARGV[5]
local r = read_one(id)
if not r or r[STATE] ~= "v" then
    return r and NAMES[r[STATE]] or "missing"
end
if state == "c" and (call("HGET", P .. "children", id) or "") ~= ARGV[9] then
    return "changed"
end
allow_oom()
finish(r, id, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[6])
write(id, r)
later("HDEL", P .. "children", id)
flush()
if #ARGV > 9 then
    accept(ARGV, 10, instant(ARGV[2]), true)
    notify("jobs")
end
audit(now, actor, ARGV[7], id, { note = ARGV[8] })
return ""
