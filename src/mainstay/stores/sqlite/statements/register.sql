-- Registers a worker.
INSERT OR REPLACE INTO mainstay_worker (id, host, pid, slots, queues, types, started_at, beat_at, expires_at, stopping)
VALUES (:id, :host, :pid, :slots, :queues, :types, :started_at, :beat_at, :expires_at, 0)
