-- How many jobs ended in each state since an instant, looking at no more than $2. Served by job_finished.
SELECT state, count(*) FROM (
    SELECT state FROM mainstay.job WHERE finished_at IS NOT NULL AND finished_at >= $1::bigint LIMIT $2::bigint
) AS seen GROUP BY state
