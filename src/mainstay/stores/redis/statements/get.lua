-- Jobs as they stand, whole. ARGV: ids. Answers a row for each that is there, in the order asked.
-- uses: base batch record
local rows, found = {}, read(ARGV)
for _, id in ipairs(ARGV) do
    local r = found[id]
    if r then
        rows[#rows + 1] = {
            id, r[STATE], r[TOKEN], r[ATTEMPT], r[CRASHES], r[WORKER], r[RUN_AT], r[STARTED], r[FINISHED], r[EXPIRES],
            r[CANCEL], r[REASON], r[META], call("HGET", P .. "payload", id), call("HGET", P .. "progress", id),
            call("HGET", P .. "error", id),
        }
    end
end
return rows
