-- The places of the first jobs in line at each of some slots, :ahead at most. Served by mainstay_job_blocked alone.
SELECT -w.priority, w.ord, CAST(w.seq AS TEXT), s.value FROM json_each(:slots) s CROSS JOIN mainstay_job w
WHERE w.seq IN (
    SELECT h.seq FROM mainstay_job h WHERE h.state = 'blocked' AND h.waits = s.value
    ORDER BY h.priority DESC, h.ord, h.seq LIMIT :ahead
)
