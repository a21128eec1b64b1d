-- Ends a review. Guarded by the state; answers the state that the job was in.
WITH chosen AS MATERIALIZED (
    SELECT j.seq, j.state, j.lock_until FROM mainstay.job j
    WHERE j.seq = (SELECT job FROM mainstay.body WHERE id = $1::text) FOR NO KEY UPDATE
), judged AS (
    UPDATE mainstay.job j
    SET state = $2::text, finished_at = $3::bigint, reason = $4::text,
        expires_at = CASE WHEN $2::text = 'completed' AND b.keep IS NOT NULL
                          THEN greatest($3::bigint + b.keep, c.lock_until) END
    FROM chosen c JOIN mainstay.body b ON b.job = ANY (ARRAY[c.seq])
    WHERE j.seq = ANY (ARRAY[c.seq]) AND c.state = 'review'
), freed AS (
    UPDATE mainstay.body b SET lock = NULL FROM chosen c
    WHERE b.job = ANY (ARRAY[c.seq]) AND c.state = 'review' AND c.lock_until = -1
), acted AS (
    INSERT INTO mainstay.action (at, actor, action, job, detail)
    SELECT $3::bigint, $5::text, $6::text, $1::text, $7::text FROM chosen c WHERE c.state = 'review'
)
SELECT state FROM chosen
