-- The log lines of jobs. Served by the primary key.
SELECT {l.LogRecord}, l.lines FROM mainstay.log l CROSS JOIN {ids} i
WHERE l.job = ANY (:seqs::bigint[]) AND i.{number} = ANY (ARRAY[l.job]) ORDER BY l.job, l.token, l.n
