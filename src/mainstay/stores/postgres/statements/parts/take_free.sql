-- The end of a claim that takes all jobs or none: none if some of them have rates to be charged or a fair place to be noted.
charged AS MATERIALIZED (
    SELECT 1 FROM (SELECT next.ctid FROM next OFFSET 0) c JOIN mainstay.job j ON j.ctid = c.ctid
    WHERE {charged} LIMIT 1
), taken AS (
    UPDATE mainstay.job j
    SET state = 'running', token = j.token + 1, attempt = j.attempt + 1, worker = :worker::text,
        started_at = (SELECT {statement_now})
    FROM next WHERE j.ctid = next.ctid AND NOT EXISTS (SELECT 1 FROM charged)
    RETURNING {claimed_job}
), freed AS (
    UPDATE mainstay.body b SET lock = NULL FROM taken t WHERE t.lock_until = 0 AND b.job = ANY (ARRAY[t.seq])
)
SELECT {Claimed} FROM taken j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
