-- As finish, for the many jobs of one worker that simply completed; the array of results is empty if there are none. `:held` also gives their slots back.
WITH given AS MATERIALIZED (
    SELECT * FROM {completions}
), done AS (
    UPDATE mainstay.job j
    SET state = 'completed', worker = NULL, run_at = NULL, finished_at = g.finished_at, reason = NULL,
        expires_at = CASE WHEN g.expires_at IS NOT NULL AND j.lock_until > g.expires_at THEN j.lock_until ELSE g.expires_at END
    FROM given g
    WHERE j.seq = ANY (ARRAY[g.seq]) AND j.worker = :worker::text AND j.token = g.token AND j.cancel_at IS NULL
    RETURNING j.seq, j.lock_until, j.finished_at, j.type, j.started_at, j.ord, j.token, j.attempt, j.crashes
), batch AS MATERIALIZED (
    SELECT count(*) = cardinality(:seq::bigint[]) AS complete FROM done
), {released_{table}} tallied AS (
    {tallied}
), freed AS (
    UPDATE mainstay.body b SET lock = NULL FROM done WHERE done.lock_until = -1 AND b.job = ANY (ARRAY[done.seq])
), parents AS (
    UPDATE mainstay.job c SET waits = '' FROM (
        SELECT w.seq FROM done JOIN mainstay.after a ON a.parent = ANY (ARRAY[done.seq]) CROSS JOIN LATERAL (
            SELECT j.seq FROM mainstay.job j WHERE j.seq = ANY (ARRAY[a.child]) AND j.waits = '|parents'
            FOR NO KEY UPDATE SKIP LOCKED
        ) w WHERE (SELECT EXISTS (SELECT 1 FROM mainstay.after)) AND done.finished_at IS NOT NULL AND NOT {waits_on}
    ) AS x WHERE c.seq = ANY (ARRAY[x.seq])
), kept AS (
    INSERT INTO mainstay.result (job, body)
    SELECT seq, result FROM given WHERE result IS NOT NULL AND CASE WHEN seq IN (SELECT seq FROM done) THEN true END
    ON CONFLICT (job) DO UPDATE SET body = excluded.body
)
SELECT CASE WHEN NOT complete THEN (SELECT coalesce(array_agg(seq), '{}') FROM done) END FROM batch
