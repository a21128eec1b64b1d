-- Unregisters a worker; what it still holds is orphaned at once. ARGV: worker.
-- uses: base bury
bury(ARGV[1])
return 1
