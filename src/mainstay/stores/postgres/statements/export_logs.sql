-- Log lines by job, token and number; the last columns are the cursor.
SELECT b.id, l.token, l.n, l.at, l.level, l.stage, l.message, l.fields, l.job, l.token, l.n
FROM mainstay.log l JOIN mainstay.body b ON b.job = ANY (ARRAY[l.job])
WHERE (l.job, l.token, l.n) > ($1::bigint, $2::bigint, $3::bigint)
ORDER BY l.job, l.token, l.n LIMIT $4::bigint
