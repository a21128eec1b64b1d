-- Log lines of moved jobs.
INSERT INTO mainstay.log (job, token, n, at, level, stage, message, fields)
SELECT b.job, u.token, u.n, u.at, u.level, u.stage, u.message, u.fields
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
     AS u(id, token, n, at, level, stage, message, fields)
JOIN mainstay.body b ON b.id = ANY (ARRAY[u.id])
