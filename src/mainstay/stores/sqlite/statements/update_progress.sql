-- How far a job is, from the attempt that holds it or has completed it.
INSERT INTO mainstay_progress (job, token, at, done, total, stage)
SELECT :seq, :token, :at, :done, :total, :stage
WHERE EXISTS (SELECT 1 FROM mainstay_job WHERE seq = :seq AND state IN ('running', 'completed') AND token = :token)
ON CONFLICT (job) DO UPDATE
SET token = excluded.token, at = excluded.at, done = excluded.done, total = excluded.total, stage = excluded.stage
