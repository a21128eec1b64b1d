-- Renews a lease that has not run out; one that has is gone for good. Never shortens a lease and never clears `stopping`:
-- the worker and its supervisor both renew, and either may come late with an old clock.
UPDATE mainstay.worker
SET beat_at = CASE WHEN beat_at > {now} THEN beat_at ELSE {now} END,
    expires_at = CASE WHEN expires_at > {now} + :lease::bigint THEN expires_at ELSE {now} + :lease::bigint END,
    stopping = stopping OR :stopping::boolean
WHERE id = :worker::text AND expires_at > {lease_now}
RETURNING wanted
