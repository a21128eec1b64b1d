-- Adds to the counters of a minute and a type: names and numbers as JSON (core/tally.py). Served by the primary key.
INSERT INTO mainstay_tally (minute, type, name, n) SELECT ?1, ?2, key, value FROM json_each(?3) WHERE true
ON CONFLICT DO UPDATE SET n = n + excluded.n
