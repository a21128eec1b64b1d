-- How many scheduled jobs of each type, looking at no more than :cap. Served by mainstay_job_due.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, CASE WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS label, run_at AS at FROM mainstay_job WHERE state = 'scheduled' LIMIT :cap
) GROUP BY type, label
