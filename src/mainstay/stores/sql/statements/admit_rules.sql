-- What is paused or at rest, and limits by name. Served by the primary key.
SELECT r.kind, r.name, r.value, r.actor, r.at, r.reason FROM mainstay.rule r
WHERE r.kind IN ('breaker', 'pause') OR (r.kind = 'limit' AND r.name = ANY (:names::text[]))
