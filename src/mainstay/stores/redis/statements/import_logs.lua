-- Imports log lines. ARGV: where the move is, where it is then, and per line the job's id and the line with its place.
-- Returns 1, or 0 where the move is elsewhere by now.
-- uses: base batch mark
if not onward(ARGV[1], ARGV[2]) then
    return 0
end
for n = 3, #ARGV, 2 do
    if call("HEXISTS", P .. "job", ARGV[n]) == 1 then
        later("ZADD", P .. "log:" .. ARGV[n], 0, ARGV[n + 1])
    end
end
flush()
return 1
