-- The types of jobs by number. Served by the primary key.
SELECT j.seq, j.type FROM mainstay.job j WHERE j.seq = ANY (:seqs::bigint[])
