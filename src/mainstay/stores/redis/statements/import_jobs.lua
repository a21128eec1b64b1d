-- Imports ended jobs that do not exist, with their history. ARGV: rows of three values each, all jobs first: job, attempt, log or
-- action; the id of its job; the row (parts/restore.lua). Returns the ids of the jobs that were imported.
-- uses: base batch record admit draft code audit restore -- rarely: lane rules
local imports = { attempt = import_attempt, log = import_commands }
local new, ids, flushed = {}, {}, false
for n = 1, #ARGV, 3 do
    local kind, id, row = ARGV[n], ARGV[n + 1], ARGV[n + 2]
    if kind == "job" then
        if call("HEXISTS", P .. "job", id) == 0 then
            import_job(id, row)
            new[id], ids[#ids + 1] = true, id
        end
    elseif new[id] then
        if not flushed then
            flush()
            flushed = true
        end
        if kind == "action" then
            local entry, bulk = unpack(cmsgpack.unpack(row))
            if not bulk or call("HEXISTS", P .. "bulk", bulk) == 0 then
                add_action(bulk and "" or id, entry, bulk)
            end
        else
            imports[kind](id, row)
        end
    end
end
flush()
return ids
