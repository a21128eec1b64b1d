-- Reserves jobs that the transaction has locked for whoever removes them now: for others, their retention is over later. They are
-- no longer counted among those that are kept.
UPDATE mainstay.job SET expires_at = :until::bigint, keep_last = NULL WHERE seq = ANY (:seqs::bigint[])
