-- What operators did, newest first.
SELECT {a.Action} FROM mainstay.action a ORDER BY a.n DESC LIMIT :limit::bigint
