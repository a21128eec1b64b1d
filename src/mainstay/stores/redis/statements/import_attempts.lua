-- Imports attempts. ARGV: where the move is, where it is then, how many errors; per error the job's id and its text; per
-- attempt the job's id and its record. Returns 1, or 0 where the move is elsewhere by now.
-- uses: base batch mark
if not onward(ARGV[1], ARGV[2]) then
    return 0
end
local errors = tonumber(ARGV[3])
for n = 4, #ARGV, 2 do
    local id = ARGV[n]
    if call("HEXISTS", P .. "job", id) == 1 then
        if n < 4 + 2 * errors then
            later("HSET", P .. "error", id, ARGV[n + 1])
        else
            call("RPUSH", P .. "attempt:" .. id, ARGV[n + 1])
        end
    end
end
flush()
return 1
