-- The first jobs in line at each of some slots, :ahead at most. Served by mainstay_job_blocked.
SELECT j.seq, j.queue, j.type, j.priority, j.ord, j.rules, j.waits
FROM json_each(:slots) s CROSS JOIN mainstay_job j
WHERE j.seq IN (
    SELECT w.seq FROM mainstay_job w WHERE w.state = 'blocked' AND w.waits = s.value
    ORDER BY w.priority DESC, w.ord, w.seq LIMIT :ahead
)
