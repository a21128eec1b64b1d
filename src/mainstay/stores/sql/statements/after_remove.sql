-- Removes the parents of jobs that wait for them no longer. Served by the index after_child.
DELETE FROM mainstay.after WHERE child = ANY (:seqs::bigint[])
