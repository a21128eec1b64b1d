-- As lock_jobs, by number.
SELECT {id}, j.seq, j.type, j.state, {lock}, {lock_until}, b.key, j.rules, j.token
FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
WHERE j.seq = ANY (:seqs::bigint[]) ORDER BY j.seq {for_update}
