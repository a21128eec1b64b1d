-- Jobs of the same type with the same key; or without a key, a schedule and the same arguments, unless these are empty or long. Only jobs whose
-- numbers are the :cap last are looked at, and of them those created since an instant.
WITH seen AS MATERIALIZED (
    SELECT j.seq, j.type, b.key, CASE WHEN j.state IN ('completed', 'cancelled', 'dead') THEN 0 ELSE 1 END AS alive,
           CASE WHEN b.key IS NULL AND b.schedule IS NULL AND b.payload <> '{}' AND length(b.payload) <= :longest::bigint THEN b.payload END AS args
    FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
    WHERE j.seq > (SELECT max(seq) FROM mainstay.job) - :cap::bigint AND {created_at} >= :since::bigint
), found AS MATERIALIZED (
    SELECT type, key, count(*) AS jobs, sum(alive) AS alive, min(seq) AS oldest, max(seq) AS newest
    FROM seen WHERE key IS NOT NULL GROUP BY type, key HAVING count(*) > 1
    UNION ALL
    SELECT type, NULL, count(*), sum(alive), min(seq), max(seq)
    FROM seen WHERE args IS NOT NULL GROUP BY type, args HAVING count(*) > 1
)
SELECT found.type, found.key, found.jobs, found.alive, o.id, n.id
FROM found
JOIN {ids} o ON o.{number} = ANY (ARRAY[found.oldest])
JOIN {ids} n ON n.{number} = ANY (ARRAY[found.newest])
ORDER BY found.jobs DESC, found.newest DESC LIMIT :limit::bigint
