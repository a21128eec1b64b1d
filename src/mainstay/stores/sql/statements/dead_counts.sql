-- Dead jobs by fingerprint, type and hour since an instant, with the newest of each; the :cap that died last are read. Served by the index
-- job_dead, which has all that is grouped.
SELECT g.fingerprint, g.type, g.hour, g.jobs, g.first, g.last, i.id
FROM (
    SELECT seen.fingerprint, seen.type, seen.hour, count(*) AS jobs, min(seen.finished_at) AS first, max(seen.finished_at) AS last, max(seen.seq) AS seq
    FROM (
        SELECT fingerprint, type, seq, finished_at,
               CASE WHEN finished_at >= :since::bigint THEN (finished_at - :since::bigint) / 3600000 ELSE -1 END AS hour
        FROM mainstay.job WHERE state = 'dead' ORDER BY finished_at DESC LIMIT :cap::bigint
    ) AS seen GROUP BY seen.fingerprint, seen.type, seen.hour
) AS g
JOIN {ids} i ON i.{number} = ANY (ARRAY[g.seq])
