-- Limits by name. Served by the primary key.
SELECT r.name, r.value FROM mainstay.rule r WHERE r.kind = 'limit' AND r.name = ANY (:names::text[])
