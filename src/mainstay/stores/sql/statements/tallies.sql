-- What was counted from one minute to another, added up in steps; hours that begin in that time come whole. Served by the primary key.
SELECT c.minute - c.minute % :step::bigint AS at, c.type, c.name, sum(c.n)::bigint FROM (
    SELECT t.minute, t.type, t.name, t.n FROM mainstay.tally t WHERE t.minute >= :since::bigint AND t.minute < :until::bigint
    UNION ALL
    SELECT -t.minute, t.type, t.name, t.n FROM mainstay.tally t WHERE t.minute > -:until::bigint AND t.minute <= -:since::bigint
) AS c WHERE :every::boolean OR c.type = ANY (:types::text[]) GROUP BY 1, 2, 3
