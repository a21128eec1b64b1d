-- Removes what a worker declared before, and what workers declared that are gone.
DELETE FROM mainstay.declaration AS d
WHERE d.worker = :worker::text OR NOT EXISTS (SELECT 1 FROM mainstay.worker w WHERE w.id = d.worker)
