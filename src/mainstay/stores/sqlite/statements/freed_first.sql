-- The first slots that may have room.
SELECT n, slot FROM mainstay_freed ORDER BY n LIMIT :limit
