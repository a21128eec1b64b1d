-- Deletes jobs that do not run, with everything that belongs to them. ARGV: see parts/audit.lua; then details that are the same for all (JSON). Returns per id what
-- became of it.
-- uses: base batch record lane admit notify audit remove -- rarely: rules examine
local results = each_job(function(r, id)
    if r[STATE] == "r" then
        return "running"
    end
    local _, type = split(r[LANE])
    remove({ [id] = r })
    local detail = cjson.decode(ARGV[#ARGV])
    detail.type, detail.from = type, NAMES[r[STATE]]
    audit("delete", id, detail)
    return "deleted"
end)
if made and made.settle(instant(ARGV[1])) then
    notify("jobs")
end
return results
