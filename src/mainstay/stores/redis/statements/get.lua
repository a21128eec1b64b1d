-- Jobs as rows. ARGV: what a row holds (parts/row.lua), how many bytes of texts are enough, ids. Returns how many of the ids
-- were looked at, then a row for each of those that exists, in the order given.
-- uses: base batch record row
local shape, enough, ids, rows, size = cjson.decode(ARGV[1]), tonumber(ARGV[2]), {}, {}, 0
for n = 3, #ARGV do
    ids[n - 2] = ARGV[n]
end
local found, looked = read(ids), #ids
for n, id in ipairs(ids) do
    if found[id] then
        local values = row(id, found[id], shape)
        rows[#rows + 1] = values
        for at = #values - #shape.texts + 1, #values do
            size = size + (values[at] and #values[at] or 0)
        end
    end
    if size > enough then
        looked = n
        break
    end
end
table.insert(rows, 1, looked)
return rows
