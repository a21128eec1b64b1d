-- Tells every listener of the channel that there may be something to do.
SELECT pg_notify(:channel::text, :what::text)
