-- Queues scheduled jobs whose time has come, the longest due first; each at the time it was due. Served by mainstay_job_due.
UPDATE mainstay_job SET (state, ord) = ({admit.state | run_at | :now}, {admit.ord | run_at | :now | run_at})
WHERE seq IN (
    SELECT seq FROM mainstay_job WHERE state = 'scheduled' AND run_at <= :now ORDER BY run_at LIMIT :limit
)
