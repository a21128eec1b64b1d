-- Lines in the order of their first jobs.
SELECT s.slot, s.running, row_number() OVER (ORDER BY l.place, first.priority DESC, first.ord, first.seq) AS n
FROM (
    SELECT u.slot, CASE WHEN min(u.running) = max(u.running) THEN min(u.running) END AS running
    FROM gone CROSS JOIN LATERAL unnest(gone.slots, gone.running) AS u(slot, running) GROUP BY u.slot
) s CROSS JOIN LATERAL (
    SELECT j.queue, j.type, j.priority, j.ord, j.seq FROM mainstay.job j
    WHERE j.state = 'blocked' AND j.waits = s.slot ORDER BY j.priority DESC, j.ord, j.seq LIMIT 1
) first LEFT JOIN l ON l.queue = first.queue AND l.type = first.type
