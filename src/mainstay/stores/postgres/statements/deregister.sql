-- Unregisters a worker; what it still holds is orphaned at once.
DELETE FROM mainstay.worker WHERE id = $1::text
