-- The job that stands in the way of a draft: the same id, or the same lock. Served by the unique indexes.
SELECT seq, id, state FROM mainstay_job WHERE id = :id
UNION ALL
SELECT seq, id, state FROM mainstay_job WHERE lock = :lock AND lock IS NOT NULL
LIMIT 1
