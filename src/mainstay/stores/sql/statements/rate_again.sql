-- Lets jobs that are scheduled by a rate be examined again; one that another transaction has locked is left alone. Served by the primary key.
UPDATE mainstay.job AS c SET state = 'blocked', waits = '', run_at = NULL FROM (
    SELECT j.seq FROM mainstay.job j
    WHERE j.seq = ANY (:seqs::bigint[]) AND j.run_at IS NOT NULL AND j.waits IS NULL AND j.worker IS NULL AND j.finished_at IS NULL {skip_locked}
) AS x WHERE c.seq = ANY (ARRAY[x.seq])
