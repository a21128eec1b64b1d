-- Removes jobs that do not run, with all that belongs to them. ARGV: now, actor, ids. Answers per id what became of it.
-- uses: base batch record place lane names audit remove
allow_oom()
local now, actor, answers = tonumber(ARGV[1]), ARGV[2], {}
for n = 3, #ARGV do
    local id = ARGV[n]
    local r = read_one(id)
    local answer = not r and "missing" or r[STATE] == "r" and "running" or "deleted"
    if answer == "deleted" then
        local detail = { type = type_of(r[LANE]), from = NAMES[r[STATE]] }
        remove({ [id] = r })
        audit(now, actor, "delete", id, detail)
    end
    answers[n - 2] = answer
end
return answers
