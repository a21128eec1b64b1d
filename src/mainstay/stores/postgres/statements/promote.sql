-- Queues scheduled jobs whose time has come, the longest due first. Served by job_due.
WITH due AS MATERIALIZED (
    SELECT j.ctid FROM mainstay.job j
    WHERE j.state = 'scheduled' AND j.run_at <= (SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))
    ORDER BY j.run_at LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE mainstay.job j SET state = 'queued', ord = j.run_at FROM due WHERE j.ctid = due.ctid
