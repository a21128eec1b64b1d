-- A log line, from the attempt that holds the job or has completed it: a handler that completes its job in its own transaction
-- does so before its last lines are written. A line sent twice is kept once, and is still current.
INSERT INTO mainstay_log (job, token, n, at, level, stage, message, fields)
SELECT :seq, :token, :n, :at, :level, :stage, :message, :fields
WHERE EXISTS (SELECT 1 FROM mainstay_job WHERE seq = :seq AND state IN ('running', 'completed') AND token = :token)
ON CONFLICT (job, token, n) DO UPDATE SET n = n
