-- Removes the counters of some minutes and returns them: the transaction adds them elsewhere. Those to which another transaction is adding
-- are left for later. Served by the primary key.
WITH free AS MATERIALIZED (
    SELECT t.ctid FROM mainstay.tally t WHERE t.minute >= :since::bigint AND t.minute < :until::bigint FOR UPDATE SKIP LOCKED
)
DELETE FROM mainstay.tally t USING free WHERE t.ctid = free.ctid RETURNING t.minute, t.type, t.name, t.n
