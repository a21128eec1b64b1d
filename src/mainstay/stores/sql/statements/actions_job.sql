-- What operators did to one job, newest first. Served by the index action_job.
SELECT {a.Action} FROM mainstay.action a WHERE a.job = :job::text ORDER BY a.n DESC LIMIT :limit::bigint
