-- When the newest job was created that is not among the :cap newest.
SELECT {created_at}
FROM (SELECT seq FROM mainstay.job ORDER BY seq DESC LIMIT 1 OFFSET :cap::bigint) AS few
JOIN mainstay.job j ON j.seq = ANY (ARRAY[few.seq])
JOIN mainstay.body b ON b.job = ANY (ARRAY[few.seq])
