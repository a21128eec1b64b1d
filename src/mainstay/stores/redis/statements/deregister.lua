-- Removes a worker; the jobs that it still runs are orphans at once. ARGV: worker.
-- uses: base deregister
deregister(ARGV[1])
return 1
