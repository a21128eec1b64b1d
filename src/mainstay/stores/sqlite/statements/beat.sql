-- Renews a lease that has not run out; one that has is gone for good.
UPDATE mainstay_worker SET beat_at = :now, expires_at = :now + :lease WHERE id = :worker AND expires_at > :now
