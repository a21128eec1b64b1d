-- Removes the first slots that may have room, and returns them.
DELETE FROM mainstay_freed WHERE n IN (SELECT n FROM mainstay_freed ORDER BY n LIMIT :limit) RETURNING slot
