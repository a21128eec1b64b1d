-- The running jobs of a worker that were asked to stop. Served by the index job_running.
SELECT {id}, j.token
FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
WHERE j.state = 'running' AND j.worker = :worker::text AND j.cancel_at IS NOT NULL
