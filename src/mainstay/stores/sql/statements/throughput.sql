-- How many jobs ended in each state since an instant; at most :cap jobs are read. Served by the index job_finished.
SELECT state, count(*) FROM (
    SELECT state FROM mainstay.job WHERE finished_at IS NOT NULL AND finished_at >= :since::bigint LIMIT :cap::bigint
) AS seen GROUP BY state
