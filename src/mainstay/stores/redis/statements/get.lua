-- Jobs as rows. ARGV: what a row holds (parts/row.lua), how many bytes of texts are enough, ids. Returns how many of the ids
-- were looked at, then a row for each of those that exists, in the order given.
-- uses: base batch record row
local found, looked = rows({ unpack(ARGV, 3) }, cjson.decode(ARGV[1]), tonumber(ARGV[2]))
return { looked, found }
