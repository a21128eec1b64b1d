-- Imports types or settings. ARGV: where the move is, where it is then, the hash (type or setting), and per entry its name and
-- value. Returns 1, or 0 where the move is elsewhere by now.
-- uses: base mark
if not onward(ARGV[1], ARGV[2]) then
    return 0
end
for n = 4, #ARGV, 2 do
    call("HSET", P .. ARGV[3], ARGV[n], ARGV[n + 1])
end
return 1
