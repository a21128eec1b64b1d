-- Jobs by id, with all columns. Served by the unique index on id.
SELECT {JobRecord}, j.seq
FROM mainstay.body b
JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
LEFT JOIN mainstay.result r ON r.job = ANY (ARRAY[b.job])
LEFT JOIN mainstay.checkpoint c ON c.job = ANY (ARRAY[b.job])
LEFT JOIN mainstay.progress p ON p.job = ANY (ARRAY[b.job])
WHERE {id} = ANY (:ids::text[])
