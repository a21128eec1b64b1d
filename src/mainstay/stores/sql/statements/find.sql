-- Ids that start with a prefix. Served by the unique index on id: every character of an id sorts below '~'.
SELECT id FROM {ids} WHERE id >= :prefix::text AND id < :prefix::text || '~' ORDER BY id DESC LIMIT :limit::bigint
