-- Marks jobs that wait for parents of which none is left unfinished: the last one ended while they were enqueued, or several in the same
-- moment. The count keeps the planner from a join; it ends at the first one.
UPDATE mainstay.job AS c SET waits = '' FROM (
    SELECT j.seq FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = '|parents'
      AND (SELECT count(*) FROM (
               SELECT 1 FROM mainstay.after a JOIN mainstay.job p ON p.seq = ANY (ARRAY[a.parent])
               WHERE a.child = ANY (ARRAY[j.seq]) AND p.finished_at IS NULL LIMIT 1
           ) AS unfinished) = 0
    LIMIT :limit::bigint {skip_locked}
) AS x WHERE c.seq = ANY (ARRAY[x.seq])
