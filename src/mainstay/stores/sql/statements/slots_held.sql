-- How many jobs hold each slot, by name. Served by the primary key.
SELECT h.slot, count(*) FROM mainstay.hold h GROUP BY h.slot ORDER BY h.slot LIMIT :limit::bigint
