-- Log lines by job, token and number; the last columns are the cursor.
SELECT j.id, l.token, l.n, l.at, l.level, l.stage, l.message, l.fields, l.job, l.token, l.n
FROM mainstay_log l JOIN mainstay_job j ON j.seq = l.job
WHERE (l.job, l.token, l.n) > (:after, :after2, :after3)
ORDER BY l.job, l.token, l.n LIMIT :limit
