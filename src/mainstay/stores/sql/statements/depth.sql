-- How many jobs of a queue wait: queued ones, and scheduled and blocked ones, each counted up to :limit. Served by job_lane and job_later,
-- whose condition costs each update of other jobs less than one on the state.
SELECT (SELECT count(*) FROM (
           SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.queue = :queue::text LIMIT :limit::bigint
       ) AS queued)
     + (SELECT count(*) FROM (
           SELECT 1 FROM mainstay.job j
           WHERE coalesce(j.run_at::text, j.waits) IS NOT NULL AND j.queue = :queue::text AND j.state IN ('scheduled', 'blocked')
           LIMIT :limit::bigint
       ) AS later)
