-- How many jobs ended in each state since an instant, looking at no more than :cap. Served by mainstay_job_finished.
SELECT state, count(*) FROM (
    SELECT state FROM mainstay_job WHERE finished_at IS NOT NULL AND finished_at >= :since LIMIT :cap
) GROUP BY state
