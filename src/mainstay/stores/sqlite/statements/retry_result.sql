-- Forgets what an attempt proposed for review: the next one may return nothing.
DELETE FROM mainstay_result WHERE job = (SELECT seq FROM mainstay_job WHERE id = :id)
