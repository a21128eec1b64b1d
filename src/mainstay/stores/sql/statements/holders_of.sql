-- The slots of a limit, and how many jobs hold each. Served by the primary key.
SELECT h.slot, count(*) FROM mainstay.hold h
WHERE h.slot >= :after::text AND h.slot < :before::text AND h.slot NOT LIKE :rates::text
GROUP BY h.slot ORDER BY h.slot LIMIT :limit::bigint
