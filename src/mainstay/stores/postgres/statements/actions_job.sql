-- What operators did to one job, newest first. Served by action_job.
SELECT at, actor, action, job, detail FROM mainstay.action WHERE job = $1::text ORDER BY n DESC LIMIT $2::bigint
