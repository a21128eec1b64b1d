-- How many jobs of each type have an id between two. Served by the unique index of ids.
SELECT j.type, count(*) FROM {ids} i {join} mainstay.job j ON j.seq = ANY (ARRAY[i.{number}])
WHERE i.id >= :since::text AND i.id < :until::text GROUP BY j.type
