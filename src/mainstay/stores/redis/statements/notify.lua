-- Rings every worker's bell. ARGV: what (jobs or cancel).
-- uses: base notify
notify(ARGV[1])
return 1
