-- As enqueue_body, for the many jobs that have none of the optional columns.
INSERT INTO mainstay_body (job, payload) VALUES (?, ?)
