-- Jobs of the same type with the same key; or without a key, a schedule and the same arguments, unless these are empty or long. Only the :cap
-- newest jobs are looked at, and of them those created since an instant.
WITH seen AS MATERIALIZED (
    SELECT j.seq, j.type, b.key, CASE WHEN j.state IN ('completed', 'cancelled', 'dead') THEN 0 ELSE 1 END AS alive,
           CASE WHEN b.key IS NULL AND b.schedule IS NULL AND b.payload <> '{}' AND length(b.payload) <= :longest::bigint THEN b.payload END AS args
    FROM (SELECT seq FROM mainstay.job ORDER BY seq DESC LIMIT :cap::bigint) AS few
    JOIN mainstay.job j ON j.seq = ANY (ARRAY[few.seq])
    JOIN mainstay.body b ON b.job = ANY (ARRAY[few.seq])
    WHERE {created_at} >= :since::bigint
), found AS (
    SELECT s.type, s.key, count(*) AS jobs, sum(s.alive) AS alive, min(s.seq) AS oldest, max(s.seq) AS newest
    FROM seen s WHERE s.key IS NOT NULL GROUP BY s.type, s.key HAVING count(*) > 1
    UNION ALL
    SELECT s.type, NULL, count(*), sum(s.alive), min(s.seq), max(s.seq)
    FROM seen s WHERE s.args IS NOT NULL GROUP BY s.type, s.args HAVING count(*) > 1
)
SELECT f.type, f.key, f.jobs, f.alive, o.id, n.id
FROM found f
JOIN {ids} o ON o.{number} = ANY (ARRAY[f.oldest])
JOIN {ids} n ON n.{number} = ANY (ARRAY[f.newest])
ORDER BY f.jobs DESC, f.newest DESC LIMIT :limit::bigint
