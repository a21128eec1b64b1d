-- A log line of a moved job.
INSERT INTO mainstay_log (job, token, n, at, level, stage, message, fields)
SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM mainstay_job WHERE id = ?1
