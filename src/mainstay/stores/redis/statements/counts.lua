-- How many jobs of each lane among some of one state, and the least of the instants that the state goes by; those that
-- wait for another attempt are told apart. ARGV: state, worker or "", from which rank, how many.
-- Answers how many were looked at, then rows of lane, label (1: with attempts behind it), count, oldest.
-- uses: base batch record
local state, first, count = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local SOURCES = { s = "due", r = "run:" .. ARGV[2], v = "review", d = "dead" }
local ids = call("ZRANGE", P .. SOURCES[state], first, first + count - 1)
if state == "s" then
    for n = 1, #ids do
        ids[n] = string.sub(ids[n], SEQ_LENGTH + 1)
    end
end
local sums = {}
for _, r in pairs(read(ids)) do
    local at = state == "s" and r[RUN_AT] or state == "r" and r[STARTED] or state == "d" and r[FINISHED]
        or tonumber(string.match(r[META], "^[^\n]*\n(%d+)"))
    local again = state == "s" and r[ATTEMPT] > 0 and 1 or 0
    local key = again .. r[LANE]
    local sum = sums[key] or { r[LANE], again, 0, at }
    sum[3], sum[4] = sum[3] + 1, math.min(sum[4], at)
    sums[key] = sum
end
local rows = { #ids }
for _, sum in pairs(sums) do
    rows[#rows + 1] = sum
end
return rows
