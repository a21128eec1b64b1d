-- How far a moved job was.
INSERT INTO mainstay_progress (job, token, at, done, total, stage) VALUES (?, ?, ?, ?, ?, ?)
