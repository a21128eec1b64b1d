-- Registered workers and how many jobs each holds. Served by mainstay_job_running.
SELECT id, host, pid, slots, queues, types, started_at, beat_at, expires_at,
       (SELECT count(*) FROM mainstay_job j WHERE j.state = 'running' AND j.worker = w.id), stopping
FROM mainstay_worker w ORDER BY started_at, id
