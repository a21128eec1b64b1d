-- How many review jobs of each type, looking at no more than $1. Served by job_review.
SELECT seen.type, 'review', count(*), min(b.created_at) FROM (
    SELECT type, seq FROM mainstay.job WHERE state = 'review' LIMIT $1::bigint
) AS seen JOIN mainstay.body b ON b.job = ANY (ARRAY[seen.seq]) GROUP BY seen.type
