-- What the next attempts start from. The last of a job counts.
INSERT INTO mainstay_checkpoint (job, token, at, body) VALUES (?, ?, ?, ?)
ON CONFLICT (job) DO UPDATE SET token = excluded.token, at = excluded.at, body = excluded.body
