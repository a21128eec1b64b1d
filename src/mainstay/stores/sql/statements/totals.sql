-- All that was ever counted: the sum of all hours, and the minutes that are in no hour yet. Served by the primary key.
SELECT t.type, t.name, sum(t.n)::bigint FROM mainstay.tally t WHERE t.minute >= 0 AND t.type <> '' GROUP BY 1, 2
