-- Parents of jobs that wait, by number; the last column is the cursor.
SELECT a.id, i.id, a.parent || ' ' || a.child
FROM mainstay.after a CROSS JOIN {ids} i
WHERE i.{number} = ANY (ARRAY[a.child]) AND (a.parent, a.child) > (:after::bigint, :after2::bigint)
ORDER BY a.parent, a.child LIMIT :limit::bigint
