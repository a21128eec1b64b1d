-- The first slots that may have room, how many jobs hold each, and the place of the first job in line there.
-- Served by the primary keys and by mainstay_job_blocked alone.
SELECT slot, (SELECT count(*) FROM mainstay_hold h WHERE h.slot = f.slot), (
    SELECT -j.priority || ' ' || j.ord || ' ' || j.seq FROM mainstay_job j WHERE j.state = 'blocked' AND j.waits = f.slot
    ORDER BY j.priority DESC, j.ord, j.seq LIMIT 1
) FROM mainstay_freed f ORDER BY n LIMIT :limit
