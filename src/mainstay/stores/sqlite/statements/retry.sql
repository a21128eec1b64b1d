-- Queues a job now with fresh attempts. The token stays: it only grows.
UPDATE mainstay_job
SET (state, ord) = ({admit.state | NULL | :now}, {admit.ord | NULL | :now | :now}), attempt = 0, crashes = 0, run_at = NULL, finished_at = NULL, expires_at = NULL,
    cancel_at = NULL, reason = NULL, lock = :lock, lock_until = :lock_until
WHERE id = :id AND state IN ('dead', 'cancelled', 'review', 'scheduled')
