-- How many dead jobs of each type, looking at no more than :cap. Served by mainstay_job_dead.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'dead' AS label, finished_at AS at FROM mainstay_job WHERE state = 'dead' LIMIT :cap
) GROUP BY type, label
