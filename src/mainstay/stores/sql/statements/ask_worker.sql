-- Asks a worker to stop. It reads this when it renews its lease. A stop is not turned into a drain.
UPDATE mainstay.worker SET wanted = CASE WHEN wanted = 'stop' THEN wanted ELSE :what::text END
WHERE id = :worker::text AND expires_at > {lease_now}
