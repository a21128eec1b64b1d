-- The running jobs of a worker, as their claim answered them. ARGV: worker.
-- uses: base batch record row
local ids, rows = call("ZRANGE", P .. "run:" .. ARGV[1], 0, -1), {}
local found = read(ids)
for _, id in ipairs(ids) do
    if found[id] then
        rows[#rows + 1] = row(found[id], id, call("HGET", P .. "payload", id))
    end
end
return rows
