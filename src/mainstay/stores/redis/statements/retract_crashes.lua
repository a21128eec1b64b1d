-- Counts crashes no longer that sweeps have recorded, where the job has not ended. ARGV: per attempt seq, the record as it is, as it
-- is to be, the error as it is, as it is to be. Returns how many.
-- uses: base batch record
local retracted = 0
for i = 1, #ARGV, 5 do
    local id = string.sub(ARGV[i], SEQ_LENGTH + 1)
    local r, key = read_one(id), P .. "attempt:" .. id
    local place = call("LPOS", key, ARGV[i + 1])
    if r and place and r[SEQ] == string.sub(ARGV[i], 1, SEQ_LENGTH) and r[CRASHES] > 0 and not r[FINISHED_AT] then
        r[CRASHES] = r[CRASHES] - 1
        call("LSET", key, place, ARGV[i + 2])
        if call("HGET", P .. "error", id) == ARGV[i + 3] then
            call("HSET", P .. "error", id, ARGV[i + 4])
        end
        write(id, r)
        flush()
        retracted = retracted + 1
    end
end
return retracted
