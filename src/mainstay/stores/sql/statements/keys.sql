-- Keys that are taken for ever, from a place on, and whether the job of each exists. Served by the primary key.
SELECT {k.KeyRecord}, EXISTS (SELECT 1 FROM {ids} i WHERE i.id = ANY (ARRAY[k.job]))
FROM mainstay.key k WHERE (k.key, k.type) > (:key::text, :type::text) AND k.key < :end::text
ORDER BY k.key, k.type LIMIT :limit::bigint
