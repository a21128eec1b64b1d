-- Counts jobs that simply completed. Nearly always all were applied, and what core/counting.py has counted for all is added. Else those that were
-- are counted here, in the same way; `width_bucket` of a number less one is the first bound that is not below it.
INSERT INTO mainstay.tally AS t (minute, type, name, n)
SELECT u.* FROM unnest(:minutes::bigint[], :types::text[], :names::text[], :ns::bigint[]) AS u WHERE (SELECT complete FROM batch)
UNION ALL
SELECT s.minute, s.type, v.name, v.n FROM (
    SELECT d.minute, d.type, d.ran_to, d.waited_to, grouping(d.ran_to, d.waited_to) AS kind, count(*) AS jobs, sum(d.ran) AS ran, sum(d.waited) AS waited
    FROM (
        SELECT x.*, least(width_bucket(x.ran - 1, {bounds}) + 1, {buckets}) AS ran_to,
               CASE WHEN x.waited IS NOT NULL THEN least(width_bucket(x.waited - 1, {bounds}) + 1, {buckets}) END AS waited_to
        FROM (
            SELECT finished_at / 60000 AS minute, type, greatest(finished_at - started_at, 0) AS ran,
                   CASE WHEN token = attempt AND crashes = 0 THEN greatest(started_at - ord, 0) END AS waited
            FROM done WHERE NOT (SELECT complete FROM batch)
        ) AS x
    ) AS d
    GROUP BY GROUPING SETS ((d.minute, d.type), (d.minute, d.type, d.ran_to), (d.minute, d.type, d.waited_to))
) AS s CROSS JOIN LATERAL (
    VALUES (3, 'completed', s.jobs), (3, 'rsum', s.ran), (3, 'wsum', s.waited),
           (1, 'r' || ({bounds})[s.ran_to], s.jobs), (2, 'w' || ({bounds})[s.waited_to], s.jobs)
) AS v(kind, name, n) WHERE v.kind = s.kind AND v.name IS NOT NULL AND v.n > 0
UNION ALL
SELECT finished_at / 60000, type, v.name, sum(v.n) FROM done CROSS JOIN LATERAL (
    VALUES ('asum', attempt - 1), ('a' || ({tries})[least(width_bucket(attempt - 1, {tries}) + 1, cardinality({tries}))], 1)
) AS v(name, n) WHERE NOT (SELECT complete FROM batch) AND attempt > 1 GROUP BY 1, 2, 3
ON CONFLICT (minute, type, name, writer) DO UPDATE SET n = t.n + excluded.n
