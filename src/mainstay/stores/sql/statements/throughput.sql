-- How many jobs ended in each state since an instant; at most :cap jobs are read. Served by the index job_finished. Dead jobs
-- are read apart from all others, by the index job_dead: so each of them is counted, however many jobs completed.
SELECT state, count(*) FROM (
    SELECT state FROM mainstay.job WHERE finished_at IS NOT NULL AND finished_at >= :since::bigint LIMIT :cap::bigint
) AS seen GROUP BY state
UNION ALL
SELECT 'all dead', count(*) FROM (
    SELECT 1 FROM mainstay.job WHERE state = 'dead' AND finished_at >= :since::bigint LIMIT :cap::bigint
) AS dead
