-- Locks schedules, so that one transaction at a time fires each of them. Served by the primary key.
SELECT r.name FROM mainstay.rule r WHERE r.kind = 'schedule' AND r.name = ANY (:names::text[]) ORDER BY r.name {lock_rows}
