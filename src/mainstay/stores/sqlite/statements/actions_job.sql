-- What operators did to one job, newest first. Served by mainstay_action_job.
SELECT at, actor, action, job, detail FROM mainstay_action WHERE job = :job ORDER BY n DESC LIMIT :limit
