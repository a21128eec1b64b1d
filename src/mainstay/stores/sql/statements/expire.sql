-- Waiting jobs that had to start by an instant that has passed. Served by the index job_start_by.
SELECT j.seq, j.start_by FROM mainstay.job j
WHERE j.start_by IS NOT NULL AND j.finished_at IS NULL AND j.state IN ('queued', 'scheduled', 'blocked') AND j.start_by <= {now} AND j.started_at IS NULL
ORDER BY j.start_by LIMIT :limit::bigint
