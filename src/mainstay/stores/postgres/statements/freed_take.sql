-- Removes slots that may have room, and returns them. A slot that is freed while this runs is in a row of its own, which stays.
WITH gone AS (
    DELETE FROM mainstay.freed WHERE ctid = ANY (ARRAY(SELECT f.ctid FROM mainstay.freed f LIMIT :limit::bigint)) RETURNING slots
)
SELECT DISTINCT u.slot FROM gone CROSS JOIN LATERAL unnest(gone.slots) AS u(slot)
