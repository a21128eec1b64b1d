-- A waiting job takes over the timing of a newer draft with the same key. Guarded: a job that started meanwhile is left alone.
UPDATE mainstay_job
SET state = :state, priority = :priority, ord = :ord, run_at = :run_at, max_attempts = :max_attempts, timeout = :timeout,
    keep = :keep, backoff = :backoff
WHERE seq = :seq AND state IN ('queued', 'scheduled')
