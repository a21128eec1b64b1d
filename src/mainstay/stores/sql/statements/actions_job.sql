-- What operators did to one job by itself, newest first; the last column is its place. Served by the index action_job.
SELECT {a.ActionRecord}, a.n FROM mainstay.action a WHERE a.job = :job::text ORDER BY a.n DESC LIMIT :limit::bigint
