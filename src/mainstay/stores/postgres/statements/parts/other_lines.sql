-- Queues the jobs in line that this worker does not want. Inserts the holds of these, and of the jobs in line among `next`. Keeps the slots of the
-- lines that were not decided about (`rest`) or that have room for more: those that were not read, and those
-- with jobs that come after what was taken; :row of them in one row, so that a small claim has not to read many.
others AS MATERIALIZED (
    SELECT let.ctid, let.slot, let.seq FROM let WHERE let.place IS NULL
), queued AS (
    UPDATE mainstay.job j SET state = {admit.state | NULL | NULL | NULL}, waits = NULL, run_at = NULL FROM others WHERE j.ctid = others.ctid
), held AS (
    INSERT INTO mainstay.hold (slot, job)
    SELECT next.slot, next.seq FROM next WHERE next.slot IS NOT NULL UNION ALL SELECT others.slot, others.seq FROM others
), passed AS MATERIALIZED (
    SELECT front.slot, front.running FROM front
    WHERE front.n >= (SELECT max(head.n) FROM head HAVING count(*) = :heads::bigint) AND front.slot <> ALL (ARRAY(SELECT rest.slot FROM rest))
    UNION
    SELECT let.slot, let.running FROM let
    WHERE let.place IS NOT NULL AND CASE WHEN let.seq IN (SELECT next.seq FROM next) THEN false ELSE true END
), kept AS (
    INSERT INTO mainstay.freed (slots, running) SELECT array_agg(k.slot), array_agg(k.running)
    FROM (
        SELECT r.*, row_number() OVER () AS n
        FROM (SELECT rest.slot, NULL::bigint AS running FROM rest UNION ALL SELECT passed.slot, passed.running FROM passed) r
    ) k GROUP BY k.n / :row::bigint
)
