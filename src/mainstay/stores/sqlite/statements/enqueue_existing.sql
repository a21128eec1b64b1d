-- The job that stands in the way of a draft: the same id, the same lock, or the key taken for ever. Served by the unique indexes.
SELECT seq, id, state FROM mainstay_job WHERE id = :id
UNION ALL
SELECT seq, id, state FROM mainstay_job WHERE lock = :lock AND lock IS NOT NULL
UNION ALL
SELECT j.seq, k.job, coalesce(j.state, 'gone') FROM mainstay_key k LEFT JOIN mainstay_job j ON j.id = k.job
WHERE k.key = :key AND k.type = :type AND :type || ':' || :key = :lock
LIMIT 1
