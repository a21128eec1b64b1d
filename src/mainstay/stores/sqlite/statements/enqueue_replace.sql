-- A waiting job becomes what a newer draft with the same key asks for, with fresh attempts; the token stays: it only grows.
-- Guarded: a job that started in the meantime is left alone.
UPDATE mainstay_job
SET {columns}, (state, ord, waits) =
    ({admit.state | :run_at | :now | :waits}, {admit.ord | :run_at | :now | :now}, {admit.waits | :run_at | :now | :waits | :waits}),
    attempt = 0, crashes = 0, reason = NULL
WHERE seq = :seq AND state IN ('queued', 'scheduled', 'blocked')
