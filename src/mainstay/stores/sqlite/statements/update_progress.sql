-- How far jobs are. The last of a job counts.
INSERT INTO mainstay_progress (job, token, at, done, total, stage, details) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job) DO UPDATE
SET token = excluded.token, at = excluded.at, done = excluded.done, total = excluded.total, stage = excluded.stage,
    details = excluded.details
