-- As enqueue_plain, for jobs whose ids were made a moment ago: nothing can be in their way, and what it takes to be ready for
-- that (48 bytes of log a job, and a second look at the list) is saved.
WITH given AS MATERIALIZED (
    SELECT nextval('mainstay.job_seq') AS seq, u.*
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::text[], $10::text[])
         AS u(id, type, queue, priority, max_attempts, timeout, keep, created_at, backoff, payload)
), made AS (
    INSERT INTO mainstay.body (job, created_at, timeout, keep, max_attempts, id, payload, backoff)
    SELECT seq, created_at, timeout, keep, max_attempts, id, payload, backoff FROM given
)
INSERT INTO mainstay.job (seq, ord, priority, queue, type, state)
SELECT seq, $11::bigint, priority, queue, type, 'queued' FROM given
