-- The attempts that hold their jobs or have completed them: a handler that completes its job in its own transaction does so before
-- its last words are written.
SELECT seq, token FROM mainstay_job
WHERE seq IN (SELECT value FROM json_each(:seqs)) AND state IN ('running', 'completed')
