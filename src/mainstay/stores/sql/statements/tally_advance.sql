-- Moves that instant, if it is still what it was.
UPDATE mainstay.tally SET n = :until::bigint WHERE minute = 0 AND type = '' AND name = 'enqueued' AND n = :since::bigint
