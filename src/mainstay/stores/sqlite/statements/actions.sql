-- What operators did, newest first.
SELECT at, actor, action, job, detail FROM mainstay_action ORDER BY n DESC LIMIT :limit
