-- The first job in line at each slot that may have room, from a number on.
SELECT f.n, f.slot, j.queue, j.type, -j.priority, j.ord, j.seq FROM mainstay_freed f CROSS JOIN mainstay_job j
WHERE f.n > :after AND j.seq = (
    SELECT h.seq FROM mainstay_job h WHERE h.state = 'blocked' AND h.waits = f.slot ORDER BY h.priority DESC, h.ord, h.seq LIMIT 1
)
ORDER BY f.n LIMIT :limit
