-- The lanes (queue and type) of these queues in which jobs wait. One seek of mainstay_job_lane for each queue and each such lane; the
-- jobs themselves are not read.
WITH RECURSIVE lane(seq) AS (
    SELECT (
        SELECT f.seq FROM mainstay_job f WHERE f.state = 'queued' AND f.queue = q.value ORDER BY f.type LIMIT 1
    )
    FROM json_each(:queues) q
    UNION ALL
    SELECT (
        SELECT n.seq FROM mainstay_job n WHERE n.state = 'queued' AND n.queue = j.queue AND n.type > j.type ORDER BY n.type LIMIT 1
    )
    FROM lane CROSS JOIN mainstay_job j ON j.seq = lane.seq
)
SELECT j.queue, j.type FROM lane CROSS JOIN mainstay_job j ON j.seq = lane.seq
