-- How many scheduled jobs of each type, looking at no more than $1. Served by job_due.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, CASE WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS label, run_at AS at FROM mainstay.job WHERE state = 'scheduled' LIMIT $1::bigint
) AS seen GROUP BY type, label
