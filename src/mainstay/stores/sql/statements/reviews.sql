-- Jobs in review after one of them, the oldest first. `+ 0`: by job_review, which has those in review only, not by the primary key.
SELECT {id}
FROM (
    SELECT seq FROM mainstay.job
    WHERE state = 'review' AND seq + 0 > coalesce((SELECT {number} FROM {ids} WHERE id = :after::text), -1)
    ORDER BY seq + 0 LIMIT :limit::bigint
) AS s
JOIN mainstay.job j ON j.seq = ANY (ARRAY[s.seq])
JOIN mainstay.body b ON b.job = ANY (ARRAY[s.seq])
