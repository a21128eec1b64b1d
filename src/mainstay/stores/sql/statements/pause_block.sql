-- Blocks queued jobs again, which the transaction has locked. Served by the primary key.
UPDATE mainstay.job SET state = 'blocked', waits = :waits::text WHERE seq = ANY (:seqs::bigint[])
