-- Accepts jobs, all or none. ARGV: now, then drafts (parts/draft.lua).
-- Answers how many when all are new or were sent before; else per draft 1 or the id that has its key; or the refused one.
-- uses: base batch record place notify draft
local answers, taken = accept(ARGV, 2, instant(ARGV[1]), false)
if taken then
    return { "taken", taken[1], taken[2], taken[3] }
end
notify("jobs")
for n = 1, #answers do
    if answers[n] ~= 1 then
        return answers
    end
end
return #answers
