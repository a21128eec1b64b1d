-- Log lines. One that is sent twice is kept once.
INSERT INTO mainstay_log (job, token, n, at, level, stage, message, fields, lines) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job, token, n) DO NOTHING
