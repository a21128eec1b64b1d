-- Ends a review. ARGV: see parts/audit.lua, with one job; then the state that follows (c or d), reason, verb, detail (JSON), the token of the
-- attempt that asked or "", "1" and the output that replaces the proposed one or twice "", the children that the job kept, as text, the normalised
-- reason, and these children as drafts (parts/draft.lua). Returns "" where it was ended, "changed" where it keeps other children, otherwise the job's state, unmatched or missing.
-- uses: base batch record lane admit notify audit draft -- rarely: rules examine parents
local now, state = tonumber(ARGV[2]), ARGV[8]
local results = each_job(function(r, id)
    if r[STATE] ~= "v" then
        return NAMES[r[STATE]]
    end
    if ARGV[12] ~= "" and r[TOKEN] ~= tonumber(ARGV[12]) then
        return "asked again"
    end
    if state == "c" and (call("HGET", P .. "children", id) or "") ~= ARGV[15] then
        return "changed"
    end
    finish(r, id, state, now, state == "c" and r[KEEP] and now + r[KEEP], ARGV[9])
    if state == "d" then
        later("HSET", P .. "fingerprint", id, reason_print(r[LANE], ARGV[16]))
    end
    write(id, r)
    later("HDEL", P .. "children", id)
    if ARGV[13] == "1" then
        later("HSET", P .. "result", id, ARGV[14])
    end
    flush()
    if #ARGV > 16 then
        accept(ARGV, 17, instant(ARGV[1]), true)
        notify("jobs")
    end
    audit(ARGV[10], id, cjson.decode(ARGV[11]))
    return ""
end)
if made and made.settle(instant(ARGV[1])) then
    notify("jobs")
end
return results
