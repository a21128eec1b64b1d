-- Marks blocked jobs (only these wait for something): the next claim examines them. Served by the primary key.
UPDATE mainstay.job SET waits = '' WHERE seq = ANY (:seqs::bigint[]) AND waits IS NOT NULL
