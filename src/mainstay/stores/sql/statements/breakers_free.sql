-- Locks open breakers, but for those that another transaction has locked: a caller's, in which a job has completed. Served by the primary key.
SELECT r.name FROM mainstay.rule r WHERE r.kind = 'breaker' AND r.name = ANY (:names::text[]) {free_rows}
