-- How many dead jobs of each type, looking at no more than $1. Served by job_dead.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'dead' AS label, finished_at AS at FROM mainstay.job WHERE state = 'dead' LIMIT $1::bigint
) AS seen GROUP BY type, label
