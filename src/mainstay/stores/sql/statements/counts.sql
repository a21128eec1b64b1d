-- Jobs by state, type and label, with the oldest instant; at most :cap jobs of each state are read. One statement, so that a
-- job that changes its state meanwhile is counted once. Served by the partial index of each state.
SELECT 'queued' AS state, seen.type, 'queued' AS label, count(*), min(seen.ord)
FROM (SELECT type, ord FROM mainstay.job WHERE state = 'queued' LIMIT :cap::bigint) AS seen GROUP BY seen.type
UNION ALL
SELECT 'scheduled', seen.type, seen.label, count(*), min(seen.run_at)
FROM (
    SELECT type, run_at, CASE WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS label
    FROM mainstay.job WHERE state = 'scheduled' LIMIT :cap::bigint
) AS seen GROUP BY seen.type, seen.label
UNION ALL
SELECT 'running', seen.type, 'running', count(*), min(seen.started_at)
FROM (SELECT type, started_at FROM mainstay.job WHERE state = 'running' LIMIT :cap::bigint) AS seen GROUP BY seen.type
UNION ALL
SELECT 'review', j.type, 'review', count(*), min({created_at})
FROM (SELECT * FROM mainstay.job WHERE state = 'review' LIMIT :cap::bigint) AS j
JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq]) GROUP BY j.type
UNION ALL
SELECT 'dead', seen.type, 'dead', count(*), min(seen.finished_at)
FROM (SELECT type, finished_at FROM mainstay.job WHERE state = 'dead' LIMIT :cap::bigint) AS seen GROUP BY seen.type
