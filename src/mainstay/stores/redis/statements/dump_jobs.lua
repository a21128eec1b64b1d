-- Jobs with what stands beside them. ARGV: how many bytes are enough, ids. Answers how many of the ids it came to, then a
-- row for each of those that is there.
-- uses: base batch record
local enough, rows, size, looked = tonumber(ARGV[1]), { 0 }, 0, 0
for n = 2, #ARGV do
    local id = ARGV[n]
    local r = read_one(id)
    looked = looked + 1
    if r then
        local texts = {}
        for at, hash in ipairs({ "payload", "result", "checkpoint", "progress" }) do
            texts[at] = call("HGET", P .. hash, id)
            size = size + (texts[at] and #texts[at] or 0)
        end
        rows[#rows + 1] = {
            id, r[STATE], r[ORD], r[RUN_AT], r[ATTEMPT], r[CRASHES], r[TOKEN], r[WORKER], r[HELD] and r[LOCK], r[UNTIL],
            r[STARTED], r[FINISHED], r[EXPIRES], r[CANCEL], r[REASON], r[META], texts[1], texts[2], texts[3], texts[4],
        }
    end
    if size > enough then
        break
    end
end
rows[1] = looked
return rows
