-- Of the first :limit lines of the audit trail, those that are older than :keep ms. Served by the primary key.
SELECT o.n FROM (SELECT a.n, a.at FROM mainstay.action a ORDER BY a.n LIMIT :limit::bigint) AS o WHERE o.at < {now} - :keep::bigint
