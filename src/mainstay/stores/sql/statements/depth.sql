-- How many jobs of a queue wait: queued ones, and scheduled and blocked ones, each counted up to :limit. Served by job_lane and job_later,
-- which costs jobs that are never scheduled or blocked nothing.
SELECT (SELECT count(*) FROM (
           SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.queue = :queue::text LIMIT :limit::bigint
       ) AS queued)
     + (SELECT count(*) FROM (
           SELECT 1 FROM mainstay.job j WHERE (j.state || '') IN ('scheduled', 'blocked') AND j.queue = :queue::text LIMIT :limit::bigint
       ) AS later)
