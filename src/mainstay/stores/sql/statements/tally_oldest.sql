-- The first minute that is in no hour yet. Served by the primary key.
SELECT min(minute) FROM mainstay.tally WHERE minute > 0
