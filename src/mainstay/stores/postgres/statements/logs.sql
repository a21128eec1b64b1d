-- Log lines in order. Served by the primary key.
SELECT at, token, level, stage, message, fields FROM mainstay.log
WHERE job = (SELECT job FROM mainstay.body WHERE id = $1::text) ORDER BY token, n LIMIT $3::bigint OFFSET $2::bigint
