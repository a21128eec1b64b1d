-- How many jobs of a queue wait: queued ones counted up to :limit, and those among the first :cap that are scheduled or blocked, of all
-- queues. Served by job_lane, job_due and job_blocked. An index of scheduled and blocked jobs by queue would cost every other job too.
SELECT (SELECT count(*) FROM (
           SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.queue = :queue::text LIMIT :limit::bigint
       ) AS queued)
     + (SELECT count(*) FROM (
           SELECT j.queue FROM mainstay.job j WHERE j.state = 'scheduled' LIMIT :cap::bigint
       ) AS scheduled WHERE scheduled.queue = :queue::text)
     + (SELECT count(*) FROM (
           SELECT j.queue FROM mainstay.job j WHERE j.state = 'blocked' LIMIT :cap::bigint
       ) AS blocked WHERE blocked.queue = :queue::text)
