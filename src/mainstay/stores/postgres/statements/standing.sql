-- Jobs by id, locked in the order of seq, with what a retry or a removal needs to know.
WITH asked AS MATERIALIZED (
    SELECT b.id, b.job, b.lock, b.key FROM unnest($1::text[]) AS u(id) JOIN mainstay.body b ON b.id = ANY (ARRAY[u.id])
)
SELECT a.id, j.seq, j.type, j.state, a.lock, j.lock_until, a.key FROM asked a JOIN mainstay.job j ON j.seq = ANY (ARRAY[a.job])
ORDER BY a.job FOR UPDATE OF j
