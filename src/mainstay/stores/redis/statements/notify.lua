-- Notifies every worker. ARGV: what of (jobs or cancel).
-- uses: base notify
notify(ARGV[1])
return 1
