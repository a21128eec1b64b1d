-- How many jobs of a queue wait: queued ones, and scheduled and blocked ones, each counted up to :limit. Served by mainstay_job_lane and
-- mainstay_job_later, whose condition costs each update of other jobs less than one on the state.
SELECT (SELECT count(*) FROM (SELECT 1 FROM mainstay_job WHERE state = 'queued' AND queue = :queue LIMIT :limit))
     + (SELECT count(*) FROM (
           SELECT 1 FROM mainstay_job
           WHERE (run_at IS NOT NULL OR waits IS NOT NULL) AND queue = :queue AND state IN ('scheduled', 'blocked') LIMIT :limit
       ))
