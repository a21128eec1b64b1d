-- How far a move into this store is: changed only where it is as the mover thinks.
UPDATE mainstay_setting SET value = :mark WHERE name = 'move.mark' AND value = :was
