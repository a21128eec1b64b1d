-- Counts jobs that simply completed, as core/tally.py does; `width_bucket` of a number less one is the first bound that is not below it.
INSERT INTO mainstay.tally AS t (minute, type, name, n)
SELECT s.minute, s.type, v.name, v.n FROM (
    SELECT d.minute, d.type, d.ran_to, d.waited_to, d.tries, grouping(d.ran_to, d.waited_to, d.tries) AS kind,
           count(*) AS jobs, sum(d.ran) AS ran, sum(d.waited) AS waited, sum(d.attempt - 1) AS again
    FROM (
        SELECT x.*, ({bounds})[least(width_bucket(x.ran - 1, {bounds}) + 1, {buckets})] AS ran_to,
               CASE WHEN x.waited IS NOT NULL THEN ({bounds})[least(width_bucket(x.waited - 1, {bounds}) + 1, {buckets})] END AS waited_to,
               CASE WHEN x.attempt > 1 THEN ({tries})[least(width_bucket(x.attempt - 1, {tries}) + 1, cardinality({tries}))] END AS tries
        FROM (
            SELECT finished_at / 60000 AS minute, type, attempt, greatest(finished_at - started_at, 0) AS ran,
                   CASE WHEN token = attempt AND crashes = 0 THEN greatest(started_at - ord, 0) END AS waited
            FROM done
        ) AS x
    ) AS d
    GROUP BY GROUPING SETS ((d.minute, d.type), (d.minute, d.type, d.ran_to), (d.minute, d.type, d.waited_to), (d.minute, d.type, d.tries))
) AS s CROSS JOIN LATERAL (
    VALUES (7, 'completed', s.jobs), (7, 'rsum', s.ran), (7, 'wsum', s.waited), (7, 'asum', s.again),
           (3, 'r' || s.ran_to, s.jobs), (5, 'w' || s.waited_to, s.jobs), (6, 'a' || s.tries, s.jobs)
) AS v(kind, name, n) WHERE v.kind = s.kind AND v.name IS NOT NULL AND v.n > 0
ON CONFLICT (minute, type, name, writer) DO UPDATE SET n = t.n + excluded.n
