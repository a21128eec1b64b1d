-- As admit_lock, without waiting: whether the lock was free is kept for admit_lines, which comes in the same batch.
SELECT set_config('mainstay_lock.taken', pg_try_advisory_xact_lock({admission_lock})::text, true)
