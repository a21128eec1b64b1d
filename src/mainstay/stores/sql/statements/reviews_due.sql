-- Reviews about which something is due, and whether they are still open: by the attempt that asked. Served by the index review_due.
SELECT {id}, v.body, {now}, j.state, j.token
FROM mainstay.review v
JOIN mainstay.job j ON j.seq = ANY (ARRAY[v.job])
JOIN mainstay.body b ON b.job = ANY (ARRAY[v.job])
WHERE v.due_at <= {now}
ORDER BY v.due_at LIMIT :limit::bigint
