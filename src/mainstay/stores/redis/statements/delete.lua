-- Deletes jobs that do not run, with everything that belongs to them. ARGV: now, actor, bulk, jobs (parts/audit.lua). Returns per id what became of it.
-- uses: base batch record lane admit audit remove
allow_oom()
return each_job(4, function(r, id)
    if r[STATE] == "r" then
        return "running"
    end
    local _, type = split(r[LANE])
    local detail = { type = type, from = NAMES[r[STATE]] }
    remove({ [id] = r })
    audit(tonumber(ARGV[1]), ARGV[2], "delete", id, detail, ARGV[3])
    return "deleted"
end)
