-- Jobs in the order of seq with what stands beside them, until the rows before are larger than :size characters. The last column
-- is the cursor.
WITH few AS MATERIALIZED (
    SELECT j.seq, sum(length(b.payload) + coalesce(length(r.body), 0) + coalesce(length(c.body), 0))
                      OVER (ORDER BY j.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS size_before
    FROM (SELECT seq FROM mainstay.job WHERE seq > :after::bigint ORDER BY seq LIMIT :limit::bigint) AS j
    JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
    LEFT JOIN mainstay.result r ON r.job = ANY (ARRAY[j.seq])
    LEFT JOIN mainstay.checkpoint c ON c.job = ANY (ARRAY[j.seq])
)
SELECT {JobRecord}, j.seq || ''
FROM few
JOIN mainstay.job j ON j.seq = ANY (ARRAY[few.seq])
JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
LEFT JOIN mainstay.result r ON r.job = ANY (ARRAY[j.seq])
LEFT JOIN mainstay.checkpoint c ON c.job = ANY (ARRAY[j.seq])
LEFT JOIN mainstay.progress p ON p.job = ANY (ARRAY[j.seq])
WHERE few.size_before IS NULL OR few.size_before <= :size::bigint
ORDER BY few.seq
