-- Locks an open breaker, unless another transaction has: a caller's, in which the job that was tried has completed. Served by the primary key.
SELECT 1 FROM mainstay.rule r WHERE r.kind = 'breaker' AND r.name = :name::text FOR UPDATE SKIP LOCKED
