-- Marks the jobs that wait for some parents; one that another transaction has locked is left to the chore. Served by the primary keys.
UPDATE mainstay.job AS c SET waits = '' FROM (
    SELECT j.seq FROM mainstay.after a JOIN mainstay.job j ON j.seq = ANY (ARRAY[a.child])
    WHERE a.parent = ANY (:seqs::bigint[]) AND j.waits = '|parents' {skip_locked}
) AS x WHERE c.seq = ANY (ARRAY[x.seq])
