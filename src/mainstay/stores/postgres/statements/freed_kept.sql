-- Slots that are kept for the next claim that examines lines.
SELECT DISTINCT u.slot FROM (SELECT f.slots FROM mainstay.freed f LIMIT :limit::bigint) f CROSS JOIN LATERAL unnest(f.slots) AS u(slot)
