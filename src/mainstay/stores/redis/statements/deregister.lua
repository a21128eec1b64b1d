-- Unregisters a worker; what it still holds is orphaned at once. ARGV: worker.
-- uses: base deregister
deregister(ARGV[1])
return 1
