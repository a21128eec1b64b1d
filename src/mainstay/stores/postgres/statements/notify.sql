-- Tells every listener of the channel that there may be something to do.
SELECT pg_notify($1::text, $2::text)
