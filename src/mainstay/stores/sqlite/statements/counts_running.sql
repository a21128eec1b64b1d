-- How many running jobs of each type, looking at no more than :cap. Served by mainstay_job_running.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'running' AS label, started_at AS at FROM mainstay_job WHERE state = 'running' LIMIT :cap
) GROUP BY type, label
