-- Removes the holds of jobs that have completed, and keeps the slots for whoever examines lines next. No lock of admission is needed: that only makes
-- room. The holds of a slot are looked up together, between the first and the last: PostgreSQL 16 may read the index without the list.
released AS (
    DELETE FROM mainstay.hold t USING (
        SELECT u.slot, array_agg(u.job) AS jobs, min(u.job) AS first, max(u.job) AS last FROM unnest(:slots::text[], :jobs::bigint[]) AS u(slot, job)
        WHERE CASE WHEN (SELECT complete FROM batch) THEN true ELSE u.job IN (SELECT seq FROM done) END GROUP BY u.slot
    ) s CROSS JOIN LATERAL (SELECT x.ctid FROM mainstay.hold x WHERE x.slot = s.slot AND x.job BETWEEN s.first AND s.last AND x.job = ANY (s.jobs) OFFSET 0) x WHERE t.ctid = x.ctid
), kept_slots AS (
    INSERT INTO mainstay.freed (slots, running) VALUES (:slots::text[], :running::bigint[])
),
