-- Meters by name. Served by the primary key.
SELECT name, value FROM mainstay.meter WHERE name = ANY (:names::text[])
