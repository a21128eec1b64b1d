-- As admit_try, but waits for the lock until others have released it; returns 'true' if it was free.
SELECT CASE WHEN pg_try_advisory_xact_lock({admission_lock}) THEN 'true' ELSE pg_advisory_xact_lock({admission_lock})::text END
FROM (SELECT set_config('mainstay_lock.taken', 'true', true) OFFSET 0) AS taken
