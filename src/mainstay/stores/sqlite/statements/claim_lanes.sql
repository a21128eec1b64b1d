-- The lanes (queue and type) of these queues in which jobs wait. One seek of mainstay_job_lane for each such lane, and one for
-- each other queue with waiting jobs; the jobs themselves are not read.
WITH RECURSIVE lane(seq) AS (
    SELECT * FROM (SELECT seq FROM mainstay_job WHERE state = 'queued' ORDER BY queue, type LIMIT 1)
    UNION ALL
    SELECT (
        SELECT n.seq FROM mainstay_job n
        WHERE n.state = 'queued'
          AND (n.queue, n.type) > (j.queue, CASE WHEN j.queue IN (SELECT value FROM json_each(:queues)) THEN j.type ELSE :last END)
        ORDER BY n.queue, n.type LIMIT 1
    )
    FROM lane CROSS JOIN mainstay_job j ON j.seq = lane.seq
)
SELECT j.queue, j.type FROM lane CROSS JOIN mainstay_job j ON j.seq = lane.seq
