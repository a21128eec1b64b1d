-- Ids that start with a prefix. Served by the unique index on id: every character of an id sorts below '~'.
SELECT id FROM mainstay_job WHERE id >= :prefix AND id < :prefix || '~' ORDER BY id DESC LIMIT :limit
