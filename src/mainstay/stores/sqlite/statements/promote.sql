-- Queues scheduled jobs whose time has come, the longest due first; each at its place, which is the time it was due. Served by mainstay_job_due.
UPDATE mainstay_job 
SET (state, ord, waits) = ({admit.state | run_at | :now | rules}, {admit.ord | run_at | :now | ord}, {admit.waits | run_at | :now | rules | ''})
WHERE seq IN (
    SELECT seq FROM mainstay_job WHERE state = 'scheduled' AND run_at <= :now ORDER BY run_at LIMIT :limit
)
