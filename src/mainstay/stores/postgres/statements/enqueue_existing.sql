-- The jobs with which drafts conflict: those that have taken their keys for ever, those with their ids, and those with their
-- locks. Served by the unique indexes.
SELECT j.seq, k.job, k.type || ':' || k.key, coalesce(j.state, 'gone') FROM mainstay.key k
LEFT JOIN mainstay.body b ON b.id = ANY (ARRAY[k.job]) LEFT JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE k.key = ANY (:keys::text[]) AND k.type || ':' || k.key = ANY (:locks::text[])
UNION ALL
SELECT b.job, b.id, b.lock, j.state FROM mainstay.body b JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE b.id = ANY (:ids::text[])
UNION ALL
SELECT b.job, b.id, b.lock, j.state FROM mainstay.body b JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE b.lock = ANY (:locks::text[]) AND b.lock IS NOT NULL
