-- Jobs by id with what an operator's verb needs to know, locked in the order of seq so that no two wait for each other.
WITH asked AS MATERIALIZED (
    SELECT {number} AS seq FROM {ids} WHERE id = ANY (:ids::text[])
)
SELECT {id}, j.seq, j.type, j.state, {lock}, {lock_until}, b.key, j.rules, j.token
FROM asked
JOIN mainstay.job j ON j.seq = ANY (ARRAY[asked.seq])
JOIN mainstay.body b ON b.job = ANY (ARRAY[asked.seq])
ORDER BY asked.seq {for_update}
