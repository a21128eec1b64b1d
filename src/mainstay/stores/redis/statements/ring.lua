-- Rings every worker's bell. ARGV: what (jobs or cancel).
-- uses: base bell
ring(ARGV[1])
return 1
