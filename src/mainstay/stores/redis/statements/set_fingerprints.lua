-- Gives dead jobs that have no fingerprint theirs. ARGV: id and fingerprint in turn. Returns how many.
-- uses: base batch record
local count = 0
for n = 1, #ARGV, 2 do
    local r = read_one(ARGV[n])
    if r and r[STATE] == "d" then
        count = count + call("HSETNX", P .. "fingerprint", ARGV[n], ARGV[n + 1])
    end
end
return count
