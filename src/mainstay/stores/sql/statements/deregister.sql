-- Removes a worker; the jobs it still holds are orphans from now on.
DELETE FROM mainstay.worker WHERE id = :worker::text
