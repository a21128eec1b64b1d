-- Ended jobs of a type and state beyond the :last newest, without those that another job waits for or that hold a key for a
-- period. Served by the index job_kept.
SELECT c.seq, i.id, c.finished_at, c.expires_at
FROM (
    SELECT j.seq, j.finished_at, j.expires_at FROM mainstay.job j
    WHERE j.type = :type::text AND j.state = :state::text AND j.keep_last IS NOT NULL AND j.finished_at IS NOT NULL
      AND (j.lock_until IS NULL OR j.lock_until <= {now})
      AND (SELECT a.parent FROM mainstay.after a WHERE a.parent = ANY (ARRAY[j.seq]) ORDER BY a.parent, a.child LIMIT 1) IS NULL
    ORDER BY j.finished_at DESC, j.seq DESC LIMIT :limit::bigint OFFSET :last::bigint
) AS c CROSS JOIN {ids} i
WHERE i.{number} = ANY (ARRAY[c.seq])
