-- Removes hours that began before a minute; their sum stays. Served by the primary key.
DELETE FROM mainstay.tally WHERE minute < 0 AND minute > -:before::bigint
