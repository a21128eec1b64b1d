-- What a change needs to know of jobs that the transaction has locked. Served by the primary keys.
SELECT j.seq, {Standing} FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq]) WHERE j.seq = ANY (:seqs::bigint[])
