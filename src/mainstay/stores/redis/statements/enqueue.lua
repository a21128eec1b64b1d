-- Accepts jobs, all or none. ARGV: now, then drafts (parts/draft.lua). Returns how many where all are new or were sent
-- before; otherwise per draft 1 or the id of the job that has its key; or "taken" and the draft that was refused.
-- uses: base batch record admit notify draft
local results, taken = accept(ARGV, 2, instant(ARGV[1]), false)
if taken then
    return { "taken", taken[1], taken[2], taken[3] }
end
notify("jobs")
for n = 1, #results do
    if results[n] ~= 1 then
        return results
    end
end
return #results
