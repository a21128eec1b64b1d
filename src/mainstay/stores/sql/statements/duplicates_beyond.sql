-- When the newest job was created whose number is not among the :cap last.
SELECT {created_at}
FROM (
    SELECT seq FROM mainstay.job WHERE seq <= (SELECT max(seq) FROM mainstay.job) - :cap::bigint ORDER BY seq DESC LIMIT 1
) AS few
JOIN mainstay.job j ON j.seq = ANY (ARRAY[few.seq])
JOIN mainstay.body b ON b.job = ANY (ARRAY[few.seq])
