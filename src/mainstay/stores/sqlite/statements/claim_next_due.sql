-- When the next scheduled job is due. Served by mainstay_job_due.
SELECT min(run_at) FROM mainstay_job WHERE state = 'scheduled'
