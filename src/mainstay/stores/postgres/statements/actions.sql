-- What operators did, newest first.
SELECT at, actor, action, job, detail FROM mainstay.action ORDER BY n DESC LIMIT $1::bigint
