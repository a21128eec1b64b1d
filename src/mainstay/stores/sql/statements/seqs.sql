-- The numbers of jobs by id. Served by the unique index on id.
SELECT id, {number} FROM {ids} WHERE id = ANY (:ids::text[])
