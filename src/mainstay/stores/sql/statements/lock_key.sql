-- Gives a job its key again.
UPDATE {ids} SET lock = :lock::text WHERE {number} = :seq::bigint
