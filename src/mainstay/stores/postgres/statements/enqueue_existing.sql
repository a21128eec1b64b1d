-- The jobs with which drafts conflict: those with their ids, and those with their locks. Served by the unique indexes.
SELECT b.job, b.id, b.lock, j.state FROM mainstay.body b JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE b.id = ANY (:ids::text[])
UNION ALL
SELECT b.job, b.id, b.lock, j.state FROM mainstay.body b JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE b.lock = ANY (:locks::text[]) AND b.lock IS NOT NULL
