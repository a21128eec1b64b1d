-- Log lines in order. Served by the primary key.
SELECT at, token, level, stage, message, fields
FROM mainstay_log WHERE job = (SELECT seq FROM mainstay_job WHERE id = :id) ORDER BY token, n LIMIT :limit OFFSET :after
