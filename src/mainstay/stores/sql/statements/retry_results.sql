-- Removes what earlier attempts proposed for review: the next attempt may return nothing.
DELETE FROM mainstay.result WHERE job = ANY (:seqs::bigint[])
