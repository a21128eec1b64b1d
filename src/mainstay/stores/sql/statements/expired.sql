-- Ended jobs whose retention is over, the longest over first, without those that another job waits for. Served by the index
-- job_expiry.
SELECT c.seq, i.id, c.finished_at, c.expires_at
FROM (
    SELECT j.seq, j.finished_at, j.expires_at FROM mainstay.job j WHERE j.expires_at <= {now}
      AND (SELECT a.parent FROM mainstay.after a WHERE a.parent = ANY (ARRAY[j.seq]) ORDER BY a.parent, a.child LIMIT 1) IS NULL
    ORDER BY j.expires_at LIMIT :limit::bigint
) AS c CROSS JOIN {ids} i
WHERE i.{number} = ANY (ARRAY[c.seq]) ORDER BY c.expires_at
