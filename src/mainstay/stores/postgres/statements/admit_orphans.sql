-- Marks jobs that wait for parents of which none is left unfinished: the last one ended while they were enqueued, or several in the same
-- moment. Each parent is looked up by itself, until one has not ended.
UPDATE mainstay.job AS c SET waits = '' FROM (
    SELECT j.seq FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = '|parents'
      AND (SELECT count(*) FROM (
               SELECT 1 FROM mainstay.after a CROSS JOIN LATERAL (
                   SELECT 1 FROM mainstay.job p WHERE p.seq = ANY (ARRAY[a.parent]) AND p.finished_at IS NULL OFFSET 0
               ) p WHERE a.child = j.seq LIMIT 1
           ) AS unfinished) = 0
    LIMIT :limit::bigint {skip_locked}
) AS x WHERE c.seq = ANY (ARRAY[x.seq])
