-- Rows of a job's log in order, those with the lines behind the first `after`, up to `limit`; the last columns are how many lines are in a
-- row, and up to its end. Served by the primary key.
SELECT {l.Line}, l.token, l.lines, l.through FROM (
    SELECT l.*, sum(coalesce(l.lines, 1)) OVER (ORDER BY l.token, l.n) AS through FROM mainstay.log l WHERE l.job = {seq_of_id}
) l
WHERE l.through > :after::bigint AND l.through - coalesce(l.lines, 1) < :after::bigint + :limit::bigint
ORDER BY l.token, l.n
