-- Attempts by job and token; the last column is the cursor. CROSS JOIN: SQLite may not begin with the jobs.
SELECT {a.AttemptRecord}, a.job || ' ' || a.token
FROM mainstay.attempt a CROSS JOIN {ids} i
WHERE i.{number} = ANY (ARRAY[a.job]) AND (a.job, a.token) > (:after::bigint, :after2::bigint)
ORDER BY a.job, a.token LIMIT :limit::bigint
