-- Rows of logs that have warnings or errors, the newest first; the last column is the cursor. Served by log_warned. CROSS JOIN: SQLite
-- may not begin with the jobs.
SELECT {l.LogRecord}, l.lines, l.at || ' ' || l.job || ' ' || l.token || ' ' || l.n
FROM mainstay.log l CROSS JOIN {ids} i
WHERE i.{number} = ANY (ARRAY[l.job]) AND l.level IN ('warning', 'error') AND l.at >= :since::bigint
AND (l.at, l.job, l.token, l.n) < (:at::bigint, :job::bigint, :token::bigint, :n::bigint)
ORDER BY l.at DESC, l.job DESC, l.token DESC, l.n DESC LIMIT :limit::bigint
