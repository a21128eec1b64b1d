-- Those of some keys that a job holds, or has taken for ever, and the job. Served by the unique index on lock and the primary key.
SELECT lock, id FROM {ids} WHERE lock = ANY (:locks::text[]) AND lock IS NOT NULL
UNION ALL
SELECT k.type || ':' || k.key, k.job FROM mainstay.key k WHERE k.key = ANY (:keys::text[]) AND k.type || ':' || k.key = ANY (:locks::text[])
