-- The payloads of jobs by number. Served by the primary key.
SELECT b.job, b.payload FROM mainstay.body b WHERE b.job = ANY (:seqs::bigint[])
