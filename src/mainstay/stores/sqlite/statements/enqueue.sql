-- Accepts a job; nothing happens when its id or its lock is there already. Served by the unique indexes.
INSERT INTO mainstay_job (seq, id, type, queue, state, priority, ord, run_at, max_attempts, lock, lock_until, timeout, keep,
                          backoff, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
