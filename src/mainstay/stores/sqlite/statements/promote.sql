-- Queues scheduled jobs whose time has come, the longest due first. Served by mainstay_job_due.
UPDATE mainstay_job SET state = 'queued', ord = run_at
WHERE seq IN (
    SELECT seq FROM mainstay_job WHERE state = 'scheduled' AND run_at <= :now ORDER BY run_at LIMIT :limit
)
