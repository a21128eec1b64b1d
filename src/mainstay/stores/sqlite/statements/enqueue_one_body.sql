-- As enqueue_body, for the job that this connection has just inserted.
INSERT INTO mainstay_body (job, payload, key, tenant, ref, tags, parent) VALUES (last_insert_rowid(), ?, ?, ?, ?, ?, ?)
