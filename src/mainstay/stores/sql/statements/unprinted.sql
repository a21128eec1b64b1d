-- Dead jobs without a fingerprint, of those that died since an instant. Served by the index job_dead.
SELECT i.id FROM (
    SELECT seq, finished_at FROM mainstay.job
    WHERE state = 'dead' AND finished_at >= :since::bigint AND fingerprint IS NULL ORDER BY finished_at LIMIT :limit::bigint
) AS found
JOIN {ids} i ON i.{number} = ANY (ARRAY[found.seq])
ORDER BY found.finished_at
