-- Rules of some kinds. Served by the primary key.
SELECT r.kind, r.name, r.value, r.actor, r.at, r.reason FROM mainstay.rule r WHERE r.kind = ANY (:kinds::text[]) ORDER BY r.kind, r.name
