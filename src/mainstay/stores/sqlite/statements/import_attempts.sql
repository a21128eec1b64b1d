-- An attempt at a moved job.
INSERT INTO mainstay_attempt (job, token, number, worker, started_at, ended_at, outcome, error, traceback)
SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM mainstay_job WHERE id = ?1
