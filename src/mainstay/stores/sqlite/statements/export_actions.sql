-- The audit trail; the last column is the cursor.
SELECT at, actor, action, job, detail, n FROM mainstay_action WHERE n > :after ORDER BY n LIMIT :limit
