-- Which of these jobs no other open transaction has locked. Served by the primary key.
SELECT seq FROM mainstay.job WHERE seq = ANY (:seqs::bigint[]) FOR NO KEY UPDATE SKIP LOCKED
