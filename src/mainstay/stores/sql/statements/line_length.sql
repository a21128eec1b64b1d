-- How many jobs wait in a line, counted up to a cap. Served by the index job_blocked.
SELECT count(*) FROM (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = :slot::text LIMIT :cap::bigint) AS line
