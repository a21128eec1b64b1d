-- The parents of blocked jobs, and their states; NULL for one that was deleted. Served by the index after_child.
SELECT a.child, a.id, p.state FROM mainstay.after a LEFT JOIN mainstay.job p ON p.seq = ANY (ARRAY[a.parent])
WHERE a.child = ANY (:seqs::bigint[])
