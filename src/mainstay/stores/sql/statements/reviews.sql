-- Jobs in review after one of them, the oldest first. `+ 0`: by job_review, which has those in review only, not by the primary key.
SELECT x.id, s.seq
FROM (
    SELECT seq FROM mainstay.job
    WHERE state = 'review' AND seq + 0 > coalesce((SELECT {number} FROM {ids} WHERE id = :after::text), -1)
    ORDER BY seq + 0 LIMIT :limit::bigint
) AS s
JOIN {ids} x ON x.{number} = ANY (ARRAY[s.seq])
