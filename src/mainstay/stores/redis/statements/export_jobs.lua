-- Jobs with what stands beside them. ARGV: how many bytes are enough, ids. Answers how many of the ids it came to, then a
-- row for each of those that is there. Payloads are read one by one: they may be large.
-- uses: base batch record
local enough, rows, size, looked, ids = tonumber(ARGV[1]), { 0 }, 0, #ARGV - 1, {}
for n = 2, #ARGV do
    ids[n - 1] = ARGV[n]
end
local found = read(ids)
for n, id in ipairs(ids) do
    local r = found[id]
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
        looked = n
        break
    end
end
rows[1] = looked
return rows
