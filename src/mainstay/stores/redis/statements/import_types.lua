-- Takes declared types over. ARGV: where the move is, where it is then, and per type its name and what was declared.
-- Answers 1, or 0 when the move is elsewhere by now.
-- uses: base mark
if not onward(ARGV[1], ARGV[2]) then
    return 0
end
for n = 3, #ARGV, 2 do
    call("HSET", P .. "type", ARGV[n], ARGV[n + 1])
end
return 1
