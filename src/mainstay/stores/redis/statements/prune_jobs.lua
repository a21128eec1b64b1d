-- Deletes ended jobs that are as `expired` has returned them. ARGV: per job its number and id, when it ended, and until when it is
-- kept (-1: for ever). Returns how many were deleted, and for how many µs that kept the server busy.
-- uses: base batch record admit remove -- rarely: lane rules
local processor = rawget(_G, "os") -- Redis 6.2 lacks it; there the time goes on while a script runs
local function clock()
    local time = not processor and call("TIME")
    return time and time[1] * 1000000 + time[2] or processor.clock() * 1000000
end

local begun, ids, marks, deleted = clock(), {}, {}, 0
for n = 1, #ARGV, 3 do
    local id = string.sub(ARGV[n], SEQ_LENGTH + 1)
    ids[#ids + 1], marks[id] = id, { string.sub(ARGV[n], 1, SEQ_LENGTH), tonumber(ARGV[n + 1]), tonumber(ARGV[n + 2]) }
end
local found = read(ids)
for id, r in pairs(found) do
    local mark = marks[id]
    if r[SEQ] == mark[1] and ENDED[r[STATE]] and r[FINISHED_AT] == mark[2] and (r[EXPIRES_AT] or -1) == mark[3] then
        deleted = deleted + 1
    else
        found[id] = nil
    end
end
remove(found)
return { deleted, math.floor(clock() - begun) }
