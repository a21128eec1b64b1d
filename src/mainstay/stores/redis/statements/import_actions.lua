-- Imports entries of the audit trail, in their order. ARGV: where the move is, where it is then, and per entry the job's id
-- ("": none) and the entry. Returns 1, or 0 where the move is elsewhere by now.
-- uses: base batch mark
if not onward(ARGV[1], ARGV[2]) then
    return 0
end
local lines = (#ARGV - 2) / 2
local last = call("INCRBY", P .. "actions", lines)
for n = 1, lines do
    local number, id = last - lines + n, ARGV[2 * n + 1]
    later("HSET", P .. "action", number, ARGV[2 * n + 2])
    if id ~= "" then
        later("ZADD", P .. "acted", 0, string.format("%s\0%012x", id, number))
    end
end
flush()
return 1
