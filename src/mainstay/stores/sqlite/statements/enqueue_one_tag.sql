-- As enqueue_tag, for the job that this connection has just inserted: a table without rowids does not change which that is.
INSERT OR IGNORE INTO mainstay_tag (tag, job) VALUES (?, last_insert_rowid())
