-- Schedules and their states by name, and the instant that decides. Served by the primary key.
SELECT r.kind, r.name, r.value, {now} FROM mainstay.rule r WHERE r.kind IN ('schedule', 'tick') AND r.name = ANY (:names::text[])
