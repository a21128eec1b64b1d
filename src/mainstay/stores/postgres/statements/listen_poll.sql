-- For a bell that polls: the job that is first in its queue (another than before: something came) and how many jobs of
-- this worker were asked to stop. Served by job_lane and job_running.
SELECT (SELECT j.seq FROM mainstay.job j WHERE j.state = 'queued' ORDER BY j.queue, j.priority DESC, j.ord, j.seq LIMIT 1),
       (SELECT count(*) FROM mainstay.job j WHERE j.state = 'running' AND j.worker = $1::text AND j.cancel_at IS NOT NULL)
