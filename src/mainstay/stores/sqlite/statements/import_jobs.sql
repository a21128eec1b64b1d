-- A job as it was elsewhere.
INSERT INTO mainstay_job (seq, id, type, queue, state, priority, ord, run_at, attempt, max_attempts, crashes, token, worker, lock, lock_until,
                          timeout, keep, backoff, created_at, started_at, finished_at, expires_at, cancel_at, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
