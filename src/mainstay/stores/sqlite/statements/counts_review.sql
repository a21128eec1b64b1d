-- How many review jobs of each type, looking at no more than :cap. Served by mainstay_job_review.
SELECT type, label, count(*), min(at) FROM (
    SELECT type, 'review' AS label, created_at AS at FROM mainstay_job WHERE state = 'review' LIMIT :cap
) GROUP BY type, label
