-- Registered workers and how many jobs each holds. Served by the index job_running.
SELECT {w.WorkerInfo} FROM mainstay.worker w ORDER BY w.started_at, w.id
