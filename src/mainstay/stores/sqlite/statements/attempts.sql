-- Every attempt that left a record.
SELECT number, token, worker, started_at, ended_at, outcome, error, traceback
FROM mainstay_attempt WHERE job = (SELECT seq FROM mainstay_job WHERE id = :id) ORDER BY token
