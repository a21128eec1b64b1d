-- Those of some keys that a job holds. Served by the unique index on lock.
SELECT lock FROM {ids} WHERE lock = ANY (:locks::text[]) AND lock IS NOT NULL
