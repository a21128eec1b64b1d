-- The recorded attempts of jobs. Served by the primary key.
SELECT {a.AttemptRecord} FROM mainstay.attempt a CROSS JOIN {ids} i
WHERE a.job = ANY (:seqs::bigint[]) AND i.{number} = ANY (ARRAY[a.job]) ORDER BY a.job, a.token
