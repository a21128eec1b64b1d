-- The counters of a minute or hour, those of all writers together. Served by the primary key.
SELECT minute, type, name, sum(n)::bigint FROM mainstay.tally WHERE minute = :minute::bigint AND type <> '' GROUP BY minute, type, name
