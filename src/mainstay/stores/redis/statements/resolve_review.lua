-- Ends a review. ARGV: now, engine time, actor, the state that follows (c or d), reason, verb, note, id, the children that the
-- job kept, as text and as drafts (parts/draft.lua). Returns "" where it was ended, "changed" where it keeps other children,
-- otherwise the job's state, or missing.
-- uses: base batch record admit notify audit draft
allow_oom()
local now, state, id = tonumber(ARGV[1]), ARGV[4], ARGV[8]
local r = read_one(id)
if not r or r[STATE] ~= "v" then
    return r and NAMES[r[STATE]] or "missing"
end
if state == "c" and (call("HGET", P .. "children", id) or "") ~= ARGV[9] then
    return "changed"
end
finish(r, id, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[5])
write(id, r)
later("HDEL", P .. "children", id)
flush()
if #ARGV > 9 then
    accept(ARGV, 10, instant(ARGV[2]), true)
    notify("jobs")
end
audit(now, ARGV[3], ARGV[6], id, { note = ARGV[7] })
return ""
