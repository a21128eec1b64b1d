-- Removes slots that may have room, and returns them.
DELETE FROM mainstay_freed WHERE slot IN (SELECT slot FROM mainstay_freed LIMIT :limit) RETURNING slot
