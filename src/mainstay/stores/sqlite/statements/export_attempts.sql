-- Attempts by job and token; the last columns are the cursor.
SELECT j.id, a.token, a.number, a.worker, a.started_at, a.ended_at, a.outcome, a.error, a.traceback, a.job, a.token
FROM mainstay_attempt a JOIN mainstay_job j ON j.seq = a.job
WHERE (a.job, a.token) > (:after, :after2)
ORDER BY a.job, a.token LIMIT :limit
