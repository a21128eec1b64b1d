-- The first id from one on. Served by the unique index of ids.
SELECT i.id FROM {ids} i WHERE i.id >= :since::text ORDER BY i.id LIMIT 1
