-- Comes before a claim. Raises an error if the worker has no lease, which undoes the whole batch. Queues the jobs that are due,
-- the longest due first, each at the time it was due. Returns in how many milliseconds the next job is due (served by job_due), and
-- whether a claim has to look at rules, whether something is paused, whether jobs are queued that may have come to an old place (what is
-- examined keeps the place that it had when it was blocked), and whether lines are to be examined.
-- The last of those is read: the entries of jobs that were claimed lie at the front of job_ruled. Nothing here waits for a lock, so the instant at which the statement began is the present.
WITH due AS MATERIALIZED (
    SELECT j.ctid FROM mainstay.job j WHERE j.state = 'scheduled' AND j.run_at <= {statement_now}
    ORDER BY j.run_at LIMIT :limit::bigint FOR NO KEY UPDATE SKIP LOCKED
), promoted AS (
    UPDATE mainstay.job j
    SET state = {admit.state | j.run_at | {statement_now} | j.rules}, ord = {admit.ord | j.run_at | {statement_now} | j.ord},
        waits = {admit.waits | j.run_at | {statement_now} | j.rules | ''}
    FROM due WHERE j.ctid = due.ctid
    RETURNING j.rules
)
SELECT CASE WHEN EXISTS (
           SELECT 1 FROM mainstay.worker w WHERE w.id = :worker::text AND w.expires_at > {statement_now}
       ) THEN 1 ELSE ('mainstay: worker ' || :worker::text || ' holds no lease at ' || statement_timestamp())::integer END,
       CASE WHEN (SELECT count(*) FROM due) = :limit::bigint THEN 0 ELSE (
           SELECT j.run_at - {statement_now} FROM mainstay.job j
           WHERE j.state = 'scheduled' AND j.run_at > {statement_now}
           ORDER BY j.run_at LIMIT 1
       ) END,
       EXISTS (SELECT 1 FROM promoted WHERE rules IS NOT NULL) OR {ruled},
       EXISTS (SELECT 1 FROM mainstay.rule r WHERE r.kind = 'pause'),
       (SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.rules IS NOT NULL ORDER BY {charged} DESC, j.seq DESC LIMIT 1) IS NOT NULL,
       EXISTS (SELECT 1 FROM mainstay.freed)
