-- Deletes jobs that the transaction has locked.
DELETE FROM mainstay.job WHERE seq = ANY (:seqs::bigint[])
