-- Lines in the order in which their slots were read.
SELECT u.slot, CASE WHEN min(u.running) = max(u.running) THEN min(u.running) END AS running, row_number() OVER () AS n
FROM gone CROSS JOIN LATERAL unnest(gone.slots, gone.running) AS u(slot, running) GROUP BY u.slot
