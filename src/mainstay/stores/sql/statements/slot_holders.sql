-- The ids of the first jobs that hold a slot. Served by the primary keys.
SELECT (SELECT i.id FROM {ids} i WHERE i.{number} = ANY (ARRAY[h.job])) FROM mainstay.hold h WHERE h.slot = :slot::text ORDER BY h.job LIMIT :limit::bigint
