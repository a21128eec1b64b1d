-- As enqueue, for the many jobs that have none of the rarer columns and may run at once.
WITH given AS MATERIALIZED (
    SELECT nextval('mainstay.job_seq') AS seq, u.*
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::text[], $10::text[])
         AS u(id, type, queue, priority, max_attempts, timeout, keep, created_at, backoff, payload)
), made AS (
    INSERT INTO mainstay.body (job, created_at, timeout, keep, max_attempts, id, payload, backoff)
    SELECT seq, created_at, timeout, keep, max_attempts, id, payload, backoff FROM given
    ON CONFLICT DO NOTHING
    RETURNING job
)
INSERT INTO mainstay.job (seq, ord, priority, queue, type, state)
SELECT seq, $11::bigint, priority, queue, type, 'queued'
FROM given WHERE CASE WHEN seq IN (SELECT job FROM made) THEN true END
