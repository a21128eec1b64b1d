-- The beginning of a statement that examines the lines of slots that were given back, if this transaction has the lock of admission and no other jobs are
-- to be examined, of which one may come first. It takes kept slots, those kept longest first, until they stand for :enough places: what it leaves is kept again and comes
-- behind all others. `l` are the lanes that the claim wants; `front` puts the lines in an order. `head` are the first jobs of one line after the other, as many as there is room for, and :heads in all: the lines behind are not counted.
-- `let` are those that this statement decides about: they have a single limit and nothing else, and are not paused. `rest` are the lines that `examine` has to
-- look at: those with other jobs, with room for more than :most, or whose jobs carry different numbers. The number that operators have set holds, then that of
-- the code, then what the jobs carried. Served by job_blocked and by the primary key of hold.
gone AS (
    DELETE FROM mainstay.freed WHERE ctid = ANY (ARRAY(
        SELECT f.ctid FROM (
            SELECT f.ctid, sum(cardinality(f.slots)) OVER (ORDER BY f.age DESC, f.ctid ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM (SELECT f.ctid, f.slots, age(f.xmin) AS age FROM mainstay.freed f LIMIT :lines::bigint) f
        ) f
        WHERE current_setting('mainstay_lock.taken', true) = 'true' AND coalesce(f.before, 0) < :enough::bigint
          AND NOT EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
    )) RETURNING slots, running
), known AS MATERIALIZED (
    SELECT r.name, coalesce(r.value::json -> 'set' -> 'running', r.value::json -> 'declared' -> 'running')::text AS running
    FROM mainstay.rule r WHERE r.kind = 'limit'
)
