-- The jobs of lane `l` in their order, from its cursor on: all priorities above the cursor's, that one from its place on, all below.
SELECT above.* FROM (
    {lane} AND j.priority > l.priority ORDER BY j.priority DESC, j.ord, j.seq
) above
UNION ALL
SELECT along.* FROM (
    {lane} AND j.priority = l.priority AND (j.ord, j.seq) >= (l.ord, l.seq) ORDER BY j.ord, j.seq
) along
UNION ALL
SELECT below.* FROM (
    {lane} AND j.priority < l.priority ORDER BY j.priority DESC, j.ord, j.seq
) below
