-- Asks running jobs to stop that the transaction has locked.
UPDATE mainstay.job AS j SET cancel_at = coalesce(j.cancel_at, :now::bigint) WHERE j.seq = ANY (:seqs::bigint[])
