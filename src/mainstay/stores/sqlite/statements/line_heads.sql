-- The first jobs in line at each of some slots, and at most as many of each. Served by mainstay_job_blocked alone.
SELECT w.seq FROM json_each(?) s CROSS JOIN mainstay_job w
WHERE w.seq IN (
    SELECT h.seq FROM mainstay_job h WHERE h.state = 'blocked' AND h.waits = s.value
    ORDER BY h.priority DESC, h.ord, h.seq LIMIT ?
)
