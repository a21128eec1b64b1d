-- Removes the counters of some minutes and returns them: the transaction adds them elsewhere. Served by the primary key.
DELETE FROM mainstay_tally WHERE minute >= :since AND minute < :until RETURNING minute, type, name, n
