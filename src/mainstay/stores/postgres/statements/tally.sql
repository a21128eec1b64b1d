-- Counts (core/tally.py), in rows of this session.
INSERT INTO mainstay.tally AS t (minute, type, name, n)
SELECT * FROM unnest(:minutes::bigint[], :types::text[], :names::text[], :ns::bigint[])
ON CONFLICT (minute, type, name, writer) DO UPDATE SET n = t.n + excluded.n
