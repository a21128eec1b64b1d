-- The first slots that may have room, and how many jobs hold each. Served by the primary keys.
SELECT n, slot, (SELECT count(*) FROM mainstay_hold h WHERE h.slot = f.slot) FROM mainstay_freed f ORDER BY n LIMIT :limit
