-- What operators did before a line of the audit trail, newest first; the last column is its place.
SELECT {a.Action}, a.n FROM mainstay.action a WHERE a.n < :before::bigint ORDER BY a.n DESC LIMIT :limit::bigint
