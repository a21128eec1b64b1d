-- Renews a lease that has not run out; one that has is gone for good. Never shortens a lease and never clears `stopping`:
-- the worker and its supervisor both renew, and either may come late with an old clock. Returns a row of NULLs if the lease
-- holds, and the running jobs that were asked to stop: job_running finds those.
WITH clock AS MATERIALIZED (SELECT coalesce($2::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now),
renewed AS (
    UPDATE mainstay.worker w
    SET beat_at = greatest(w.beat_at, clock.now), expires_at = greatest(w.expires_at, clock.now + $3::bigint),
        stopping = w.stopping OR $4::boolean
    FROM clock WHERE w.id = $1::text AND w.expires_at > clock.now
    RETURNING w.id
)
SELECT NULL AS id, NULL AS token FROM renewed
UNION ALL
SELECT b.id, j.token FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
WHERE j.state = 'running' AND j.worker = $1::text AND j.cancel_at IS NOT NULL
