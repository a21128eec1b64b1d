-- How an attempt ended.
INSERT OR IGNORE INTO mainstay_attempt (job, token, number, worker, started_at, ended_at, outcome, error, traceback, code)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
