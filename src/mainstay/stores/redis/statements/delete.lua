-- Deletes jobs that do not run, with everything that belongs to them. ARGV: see parts/audit.lua. Returns per id what
-- became of it.
-- uses: base batch record lane admit audit remove
return each_job(function(r, id)
    if r[STATE] == "r" then
        return "running"
    end
    local _, type = split(r[LANE])
    remove({ [id] = r })
    audit("delete", id, { type = type, from = NAMES[r[STATE]] })
    return "deleted"
end)
