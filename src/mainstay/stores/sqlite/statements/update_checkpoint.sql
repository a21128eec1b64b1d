-- What the next attempt starts from, from the attempt that holds the job or has completed it.
INSERT INTO mainstay_checkpoint (job, token, at, body)
SELECT :seq, :token, :at, :body
WHERE EXISTS (SELECT 1 FROM mainstay_job WHERE seq = :seq AND state IN ('running', 'completed') AND token = :token)
ON CONFLICT (job) DO UPDATE SET token = excluded.token, at = excluded.at, body = excluded.body
