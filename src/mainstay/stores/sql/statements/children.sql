-- The children that a job in review enqueues when it is approved.
SELECT r.children FROM mainstay.result r WHERE r.job = ANY (:seqs::bigint[])
