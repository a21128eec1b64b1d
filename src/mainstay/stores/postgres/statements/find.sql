-- Ids that start with a prefix. Served by the unique index on id: every character of an id sorts below '~'.
SELECT id FROM mainstay.body WHERE id >= $1::text AND id < $1::text || '~' ORDER BY id DESC LIMIT $2::bigint
