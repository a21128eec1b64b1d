-- The running jobs of a worker that were asked to stop. Served by mainstay_job_running.
SELECT id, token FROM mainstay_job WHERE state = 'running' AND worker = :worker AND cancel_at IS NOT NULL
