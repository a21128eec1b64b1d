-- Cancels jobs that do not run and asks those that do to stop; answers the state that each was in. A key that held while
-- its job was alive is let go. Locked in the order of seq, so that nobody waits in a circle.
WITH asked AS MATERIALIZED (
    SELECT u.id, u.n, b.job, b.keep FROM unnest($1::text[]) WITH ORDINALITY AS u(id, n)
    JOIN mainstay.body b ON b.id = ANY (ARRAY[u.id])
), chosen AS MATERIALIZED (
    SELECT j.seq, j.state, j.lock_until, a.id, a.n, a.keep FROM asked a JOIN mainstay.job j ON j.seq = ANY (ARRAY[a.job])
    ORDER BY a.job FOR NO KEY UPDATE OF j
), cancelled AS (
    UPDATE mainstay.job j
    SET state = 'cancelled', finished_at = $2::bigint, run_at = NULL, cancel_at = $2::bigint,
        reason = 'cancelled by ' || $3::text,
        expires_at = CASE WHEN c.lock_until > $2::bigint + c.keep THEN c.lock_until ELSE $2::bigint + c.keep END
    FROM chosen c WHERE j.seq = ANY (ARRAY[c.seq]) AND c.state IN ('queued', 'scheduled', 'blocked', 'review')
), stopping AS (
    UPDATE mainstay.job j SET cancel_at = coalesce(j.cancel_at, $2::bigint)
    FROM chosen c WHERE j.seq = ANY (ARRAY[c.seq]) AND c.state = 'running'
), freed AS (
    UPDATE mainstay.body b SET lock = NULL
    FROM chosen c WHERE b.job = ANY (ARRAY[c.seq]) AND b.lock IS NOT NULL AND c.lock_until <= 0
      AND c.state IN ('queued', 'scheduled', 'blocked', 'review')
), acted AS (
    INSERT INTO mainstay.action (at, actor, action, job, detail)
    SELECT $2::bigint, $3::text, 'cancel', c.id, '{}' FROM chosen c
    WHERE c.state NOT IN ('completed', 'cancelled', 'dead') ORDER BY c.n
)
SELECT id, state FROM chosen
