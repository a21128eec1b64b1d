-- Deletes what belongs to jobs from one of the tables that stand beside them.
DELETE FROM mainstay.{table} WHERE job = ANY (:seqs::bigint[])
