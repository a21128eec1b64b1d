-- How many queued jobs of each type, looking at no more than $1. Served by job_lane.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'queued' AS label, ord AS at FROM mainstay.job WHERE state = 'queued' LIMIT $1::bigint
) AS seen GROUP BY type, label
