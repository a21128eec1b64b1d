-- Unregisters a worker; what it still holds is orphaned at once.
DELETE FROM mainstay_worker WHERE id = :worker
