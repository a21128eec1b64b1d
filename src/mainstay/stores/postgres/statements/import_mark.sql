-- How far a move into this store is: changed only where it is as the mover thinks.
UPDATE mainstay.setting SET value = $2::text WHERE name = 'move.mark' AND value = $1::text
