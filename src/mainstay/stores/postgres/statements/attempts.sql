-- Every attempt that left a record.
SELECT number, token, worker, started_at, ended_at, outcome, error, traceback
FROM mainstay.attempt WHERE job = (SELECT job FROM mainstay.body WHERE id = $1::text) ORDER BY token
