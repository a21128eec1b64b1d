-- The running jobs of a worker, with the same columns as a claim. Served by the index job_running.
SELECT {Claimed}
FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
WHERE j.state = 'running' AND j.worker = :worker::text
ORDER BY j.priority DESC, j.ord, j.seq
