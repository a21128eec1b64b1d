-- Renews a lease that has not run out; one that has is gone for good. Never shortens one: the worker and its supervisor
-- both beat, and whoever was held up in between comes with an old clock.
UPDATE mainstay_worker SET beat_at = max(beat_at, :now), expires_at = max(expires_at, :now + :lease)
WHERE id = :worker AND expires_at > :now
