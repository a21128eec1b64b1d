-- The running jobs of a worker. ARGV: worker, what a row holds (parts/row.lua). Returns a row for each.
-- uses: base batch record row
return (rows(call("ZRANGE", P .. "run:" .. ARGV[1], 0, -1), cjson.decode(ARGV[2])))
