-- The states of jobs whose transitions were refused.
SELECT j.seq, j.state, j.token, j.cancel_at, j.worker FROM mainstay.job j WHERE j.seq = ANY (:seqs::bigint[])
