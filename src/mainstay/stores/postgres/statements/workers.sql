-- Registered workers and how many jobs each holds. Served by job_running.
SELECT id, host, pid, slots, queues, types, started_at, beat_at, expires_at,
       (SELECT count(*) FROM mainstay.job j WHERE j.state = 'running' AND j.worker = w.id), stopping
FROM mainstay.worker w ORDER BY started_at, id
