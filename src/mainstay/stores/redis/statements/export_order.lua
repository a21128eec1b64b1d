-- The numbers of some jobs. ARGV: the id after which to start, how many jobs to look at, the number above which they are
-- wanted. Returns the last id that was looked at ("" at the end), then number and id of each. Uses `ids`.
-- uses: base batch record
local ids = call("ZRANGEBYLEX", P .. "ids", ARGV[1] == "" and "-" or "(" .. ARGV[1], "+", "LIMIT", 0, ARGV[2])
local found = read(ids)
local members = { #ids == tonumber(ARGV[2]) and ids[#ids] or "" }
for _, id in ipairs(ids) do
    local r = found[id]
    if r and r[SEQ] > ARGV[3] then
        members[#members + 1] = r[SEQ] .. id
    end
end
return members
