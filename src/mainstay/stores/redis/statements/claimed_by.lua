-- The running jobs of a worker. ARGV: worker, what a row holds (parts/row.lua). Returns a row for each.
-- uses: base batch record row
local ids, rows = call("ZRANGE", P .. "run:" .. ARGV[1], 0, -1), {}
local found, shape = read(ids), cjson.decode(ARGV[2])
for _, id in ipairs(ids) do
    if found[id] then
        rows[#rows + 1] = row(id, found[id], shape)
    end
end
return rows
