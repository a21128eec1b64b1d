-- Jobs by state, queue, type and label, with the oldest instant; at most :cap jobs of each state are read. One statement, so
-- that a job that changes its state meanwhile is counted once. Served by the partial index of each state. In the order of the index of queued
-- jobs, PostgreSQL groups without a hash of each: two thirds of the time.
SELECT 'queued' AS state, seen.queue, seen.type, 'queued' AS label, count(*), min(seen.ord)
FROM (SELECT queue, type, ord FROM mainstay.job WHERE state = 'queued' ORDER BY queue, type LIMIT :cap::bigint) AS seen
GROUP BY seen.queue, seen.type
UNION ALL
SELECT 'scheduled', seen.queue, seen.type, seen.label, count(*), min(seen.run_at)
FROM (
    SELECT queue, type, run_at, CASE WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS label
    FROM mainstay.job WHERE state = 'scheduled' LIMIT :cap::bigint
) AS seen GROUP BY seen.queue, seen.type, seen.label
UNION ALL
SELECT 'running', seen.queue, seen.type, 'running', count(*), min(seen.started_at)
FROM (SELECT queue, type, started_at FROM mainstay.job WHERE state = 'running' LIMIT :cap::bigint) AS seen
GROUP BY seen.queue, seen.type
UNION ALL
SELECT 'review', j.queue, j.type, 'review', count(*), min({created_at})
FROM (SELECT * FROM mainstay.job WHERE state = 'review' LIMIT :cap::bigint) AS j
JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq]) GROUP BY j.queue, j.type
UNION ALL
SELECT 'dead', seen.queue, seen.type, 'dead', count(*), min(seen.finished_at)
FROM (SELECT queue, type, finished_at FROM mainstay.job WHERE state = 'dead' LIMIT :cap::bigint) AS seen
GROUP BY seen.queue, seen.type
UNION ALL
SELECT 'blocked', seen.queue, seen.type, 'blocked', count(*), NULL
FROM (SELECT queue, type FROM mainstay.job WHERE state = 'blocked' LIMIT :cap::bigint) AS seen
GROUP BY seen.queue, seen.type
