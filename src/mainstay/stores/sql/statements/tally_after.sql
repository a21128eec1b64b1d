-- The first minute or hour with counters after one. Served by the primary key.
SELECT minute FROM mainstay.tally WHERE minute > :after::bigint ORDER BY minute LIMIT 1
