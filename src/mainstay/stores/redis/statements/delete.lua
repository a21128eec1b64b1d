-- Deletes jobs that do not run, with everything that belongs to them. ARGV: now, actor, ids. Returns per id what became of it.
-- uses: base batch record lane admit names audit remove
allow_oom()
local now, actor, results = tonumber(ARGV[1]), ARGV[2], {}
for n = 3, #ARGV do
    local id = ARGV[n]
    local r = read_one(id)
    local result = not r and "missing" or r[STATE] == "r" and "running" or "deleted"
    if result == "deleted" then
        local _, type = split(r[LANE])
        local detail = { type = type, from = NAMES[r[STATE]] }
        remove({ [id] = r })
        audit(now, actor, "delete", id, detail)
    end
    results[n - 2] = result
end
return results
