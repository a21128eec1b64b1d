-- Makes a meter, unless it is there; waits for another transaction that makes it.
INSERT INTO mainstay.meter (name, value) VALUES (:name::text, :value::bigint) ON CONFLICT DO NOTHING
