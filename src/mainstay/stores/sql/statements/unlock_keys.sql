-- Releases the keys of jobs.
UPDATE {ids} SET lock = NULL WHERE {number} = ANY (:seqs::bigint[])
