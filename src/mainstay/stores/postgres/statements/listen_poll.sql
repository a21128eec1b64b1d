-- For a listener that polls: the first job of all queues (another than before means that a job arrived), and how many jobs of this
-- worker were asked to stop. Served by job_lane and job_running.
SELECT (SELECT j.seq FROM mainstay.job j WHERE j.state = 'queued' ORDER BY j.queue, j.type, j.priority DESC, j.ord, j.seq LIMIT 1),
       (SELECT count(*) FROM mainstay.job j WHERE j.state = 'running' AND j.worker = :worker::text AND j.cancel_at IS NOT NULL)
