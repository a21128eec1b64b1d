-- Applies transitions. ARGV: now, how many notes, notes (parts/note.lua), transitions (parts/outcome.lua).
-- uses: base batch record place bell draft note outcome
insist()
local notes = tonumber(ARGV[2])
write_notes(ARGV, 3, notes)
local first = 3 + notes * 5
local verdicts, news = apply(ARGV, first, (#ARGV - first + 1) / 5, instant(ARGV[1]))
if news then
    ring("jobs")
end
return verdicts
