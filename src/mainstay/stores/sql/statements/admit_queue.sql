-- Queues blocked jobs at the places that they have. Served by the primary key.
UPDATE mainstay.job SET state = {admit.state | NULL | NULL | NULL}, waits = NULL, run_at = NULL WHERE seq = ANY (:seqs::bigint[])
