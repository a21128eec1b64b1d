-- The tags of jobs, as their bodies have them. Served by the primary key.
SELECT job, tags FROM mainstay.body WHERE job = ANY (:seqs::bigint[]) AND tags IS NOT NULL
