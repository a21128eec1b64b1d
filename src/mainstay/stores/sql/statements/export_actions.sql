-- The audit trail; the last column is the cursor.
SELECT {a.ActionRecord}, a.n || '' FROM mainstay.action a WHERE a.n > :after::bigint ORDER BY a.n LIMIT :limit::bigint
