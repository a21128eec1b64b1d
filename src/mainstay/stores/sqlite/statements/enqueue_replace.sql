-- A waiting job becomes what a newer draft with the same key asks for, with fresh attempts; the token stays: it only grows.
-- Guarded: a job that started meanwhile is left alone.
UPDATE mainstay_job
SET queue = :queue, state = :state, priority = :priority, ord = :ord, run_at = :run_at, max_attempts = :max_attempts,
    timeout = :timeout, keep = :keep, backoff = :backoff, lock_until = :lock_until, attempt = 0, crashes = 0, reason = NULL
WHERE seq = :seq AND state IN ('queued', 'scheduled')
