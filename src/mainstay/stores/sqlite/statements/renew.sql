-- Renews a lease that has not run out; one that has is gone for good. Never shortens a lease and never clears `stopping`:
-- the worker and its supervisor both renew, and either may come late with an old clock.
UPDATE mainstay_worker
SET beat_at = max(beat_at, :now), expires_at = max(expires_at, :now + :lease), stopping = max(stopping, :stopping)
WHERE id = :worker AND expires_at > :now
