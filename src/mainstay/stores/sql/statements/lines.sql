-- What blocked jobs wait for, each once. One seek of the index job_blocked for each.
WITH RECURSIVE line(waits) AS (
    SELECT (SELECT min(j.waits) FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits >= :after::text)
    UNION ALL
    SELECT (SELECT min(j.waits) FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits > line.waits) FROM line
    WHERE line.waits IS NOT NULL AND line.waits < :before::text
)
SELECT waits FROM line WHERE waits IS NOT NULL AND waits < :before::text LIMIT :limit::bigint
