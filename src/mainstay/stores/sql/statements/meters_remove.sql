-- Removes meters.
DELETE FROM mainstay.meter WHERE name = ANY (:names::text[])
