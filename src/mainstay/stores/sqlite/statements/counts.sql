-- As the shared statement. As long as no more than :cap jobs are queued, they are grouped in the order of their index: SQLite sorts the rows
-- of a subquery with a limit before it groups them, and takes twice as long (87 ms for 100,000 jobs, this takes 46).
WITH more(queued) AS (
    SELECT EXISTS (SELECT 1 FROM mainstay_job INDEXED BY mainstay_job_lane WHERE state = 'queued' LIMIT 1 OFFSET :cap)
)
SELECT 'queued' AS state, queue, type, 'queued' AS label, count(*), min(ord)
FROM mainstay_job INDEXED BY mainstay_job_lane
WHERE state = 'queued' AND queue < (SELECT CASE WHEN queued THEN '' ELSE x'' END FROM more)  -- below no text, or below a blob: all texts
GROUP BY queue, type
UNION ALL
SELECT 'queued', seen.queue, seen.type, 'queued', count(*), min(seen.ord)
FROM (
    SELECT queue, type, ord FROM mainstay_job INDEXED BY mainstay_job_lane WHERE state = 'queued'
    LIMIT (SELECT CASE WHEN queued THEN :cap ELSE 0 END FROM more)
) AS seen GROUP BY seen.queue, seen.type
UNION ALL
SELECT 'scheduled', seen.queue, seen.type, seen.label, count(*), min(seen.run_at)
FROM (
    SELECT queue, type, run_at, CASE WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END AS label
    FROM mainstay_job WHERE state = 'scheduled' LIMIT :cap
) AS seen GROUP BY seen.queue, seen.type, seen.label
UNION ALL
SELECT 'running', seen.queue, seen.type, 'running', count(*), min(seen.started_at)
FROM (SELECT queue, type, started_at FROM mainstay_job WHERE state = 'running' LIMIT :cap) AS seen
GROUP BY seen.queue, seen.type
UNION ALL
SELECT 'review', j.queue, j.type, 'review', count(*), min(j.created_at)
FROM (SELECT * FROM mainstay_job WHERE state = 'review' LIMIT :cap) AS j
JOIN mainstay_body b ON b.job = j.seq GROUP BY j.queue, j.type
UNION ALL
SELECT 'dead', seen.queue, seen.type, 'dead', count(*), min(seen.finished_at)
FROM (SELECT queue, type, finished_at FROM mainstay_job WHERE state = 'dead' LIMIT :cap) AS seen
GROUP BY seen.queue, seen.type
UNION ALL
SELECT 'blocked', seen.queue, seen.type, 'blocked', count(*), NULL
FROM (SELECT queue, type FROM mainstay_job WHERE state = 'blocked' LIMIT :cap) AS seen
GROUP BY seen.queue, seen.type
