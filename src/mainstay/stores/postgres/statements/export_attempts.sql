-- Attempts by job and token; the last columns are the cursor.
SELECT b.id, a.token, a.number, a.worker, a.started_at, a.ended_at, a.outcome, a.error, a.traceback, a.job, a.token
FROM mainstay.attempt a JOIN mainstay.body b ON b.job = ANY (ARRAY[a.job])
WHERE (a.job, a.token) > ($1::bigint, $2::bigint)
ORDER BY a.job, a.token LIMIT $3::bigint
