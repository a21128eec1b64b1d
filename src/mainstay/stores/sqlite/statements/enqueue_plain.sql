-- As enqueue, for the many jobs that have none of the optional columns.
INSERT INTO mainstay_job (seq, id, type, queue, state, priority, ord, max_attempts, timeout, keep, created_at)
VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
