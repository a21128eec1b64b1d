-- How many running jobs of each type, looking at no more than $1. Served by job_running.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'running' AS label, started_at AS at FROM mainstay.job WHERE state = 'running' LIMIT $1::bigint
) AS seen GROUP BY type, label
