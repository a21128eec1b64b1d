head AS MATERIALIZED (
    SELECT f.slot, f.running, f.n, j.ctid, j.seq, j.priority, j.ord, j.place, coalesce(r.room <= :most::bigint, false) AND j.simple AS simple
    FROM front f CROSS JOIN LATERAL (
        SELECT CASE WHEN k.running = 'null' THEN :most::bigint + 1 ELSE coalesce(k.running::bigint, f.running) - (
            SELECT count(*) FROM mainstay.hold h WHERE h.slot = f.slot
        ) END AS room
        FROM (SELECT 1) AS one LEFT JOIN known k ON k.name = split_part(f.slot, E'\n', 1)
    ) r CROSS JOIN LATERAL (
        SELECT j.ctid, j.seq, j.priority, j.ord, (SELECT l.place FROM l WHERE l.queue = j.queue AND l.type = j.type) AS place,
               j.rules LIKE '{"limits":[[%' AND strpos(j.rules, '],') = 0 AND (
                   (SELECT array_agg(p.name) FROM mainstay.rule p WHERE p.kind = 'pause') IS NULL OR NOT
                   (SELECT array_agg(p.name) FROM mainstay.rule p WHERE p.kind = 'pause') && ARRAY['all', 'queue:' || j.queue, 'type:' || j.type]
               ) AS simple
        FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = f.slot ORDER BY j.priority DESC, j.ord, j.seq
        LIMIT CASE WHEN r.room <= 0 THEN 0 WHEN r.room <= :most::bigint THEN r.room ELSE 1 END
        FOR NO KEY UPDATE SKIP LOCKED
    ) j
    LIMIT :heads::bigint
), rest AS MATERIALIZED (
    SELECT DISTINCT head.slot FROM head WHERE NOT head.simple
), let AS NOT MATERIALIZED (
    SELECT head.* FROM head WHERE head.slot <> ALL (ARRAY(SELECT rest.slot FROM rest))
)
