-- Ended jobs by number, locked, without those that another process removes now; the last column is the present.
SELECT j.seq, j.finished_at, j.expires_at, {now} FROM mainstay.job j
WHERE j.seq = ANY (:seqs::bigint[]) AND j.finished_at IS NOT NULL {skip_locked}
