-- The jobs that stand in the way of drafts: those with their ids, and those with their locks. Served by the unique indexes.
SELECT b.job, b.id, b.lock, j.state FROM mainstay.body b JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE b.id = ANY ($1::text[])
UNION ALL
SELECT b.job, b.id, b.lock, j.state FROM mainstay.body b JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
WHERE b.lock = ANY ($2::text[]) AND b.lock IS NOT NULL
