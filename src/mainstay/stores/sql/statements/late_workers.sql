-- Workers whose lease has expired. The table has one row a worker.
SELECT id, beat_at, expires_at FROM mainstay.worker WHERE expires_at <= {lease_now}
