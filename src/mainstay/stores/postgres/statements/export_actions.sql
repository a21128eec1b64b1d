-- The audit trail; the last column is the cursor.
SELECT at, actor, action, job, detail, n FROM mainstay.action WHERE n > $1::bigint ORDER BY n LIMIT $2::bigint
