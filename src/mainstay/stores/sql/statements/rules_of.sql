-- The rules of jobs that do not run. Served by the primary key.
SELECT j.rules FROM mainstay.job j WHERE j.seq = ANY (:seqs::bigint[]) AND j.state <> 'running' {for_update}
