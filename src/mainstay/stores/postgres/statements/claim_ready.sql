-- What comes before a claim: the worker's lease must hold, or everything is undone by an error that says so; what is due is
-- queued, the longest due first; and it is told in how many milliseconds the next job will be. Served by job_due. Nothing
-- here waits, so the instant at which the statement began is the present.
WITH due AS MATERIALIZED (
    SELECT j.ctid FROM mainstay.job j
    WHERE j.state = 'scheduled'
      AND j.run_at <= coalesce($2::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
    ORDER BY j.run_at LIMIT $3::bigint FOR NO KEY UPDATE SKIP LOCKED
), queued AS (
    UPDATE mainstay.job j SET state = 'queued', ord = j.run_at FROM due WHERE j.ctid = due.ctid
)
SELECT CASE WHEN EXISTS (
           SELECT 1 FROM mainstay.worker w
           WHERE w.id = $1::text
             AND w.expires_at > coalesce($2::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
       ) THEN 1 ELSE ('mainstay: worker ' || $1::text || ' holds no lease at ' || statement_timestamp())::integer END,
       CASE WHEN (SELECT count(*) FROM due) = $3::bigint THEN 0 ELSE (
           SELECT j.run_at - coalesce($2::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
           FROM mainstay.job j
           WHERE j.state = 'scheduled'
             AND j.run_at > coalesce($2::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
           ORDER BY j.run_at LIMIT 1
       ) END
