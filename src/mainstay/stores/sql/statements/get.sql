-- Jobs by id. Served by the unique index on id.
SELECT {Job}
FROM mainstay.body b
JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
LEFT JOIN mainstay.progress p ON p.job = ANY (ARRAY[b.job])
WHERE {id} = ANY (:ids::text[])
