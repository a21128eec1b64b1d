-- Rules of a kind by name. Served by the primary key.
SELECT r.kind, r.name, r.value, r.actor, r.at, r.reason FROM mainstay.rule r WHERE r.kind = :kind::text AND r.name = ANY (:names::text[])
