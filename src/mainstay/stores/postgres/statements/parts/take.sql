-- The end of a claim: gives the locked jobs to the worker and returns them. A key that was held until the start is released.
taken AS (
    UPDATE mainstay.job j
    SET state = 'running', token = j.token + 1, attempt = j.attempt + 1, worker = :worker::text,
        started_at = (SELECT {statement_now})
    FROM next WHERE j.ctid = next.ctid
    RETURNING {claimed_job}
), freed AS (
    UPDATE mainstay.body b SET lock = NULL FROM taken t WHERE t.lock_until = 0 AND b.job = ANY (ARRAY[t.seq])
)
SELECT {Claimed} FROM taken j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
