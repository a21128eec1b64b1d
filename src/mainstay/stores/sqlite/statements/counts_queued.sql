-- How many queued jobs of each type, looking at no more than :cap. Served by mainstay_job_lane.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'queued' AS label, ord AS at FROM mainstay_job WHERE state = 'queued' LIMIT :cap
) GROUP BY type, label
