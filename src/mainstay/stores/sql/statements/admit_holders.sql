-- How many jobs hold each slot. Served by the primary key.
SELECT slot, count(*) FROM mainstay.hold WHERE slot = ANY (:slots::text[]) GROUP BY slot
