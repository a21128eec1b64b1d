-- Log lines by job, token and number; the last column is the cursor. CROSS JOIN: SQLite may not begin with the jobs.
SELECT {l.LogRecord}, l.lines, l.job || ' ' || l.token || ' ' || l.n
FROM mainstay.log l CROSS JOIN {ids} i
WHERE i.{number} = ANY (ARRAY[l.job]) AND (l.job, l.token, l.n) > (:after::bigint, :after2::bigint, :after3::bigint)
ORDER BY l.job, l.token, l.n LIMIT :limit::bigint
