-- Whether a worker's lease holds. Served by the primary key.
SELECT 1 FROM mainstay_worker WHERE id = :worker AND expires_at > :now
