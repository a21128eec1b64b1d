-- Records how far a move into this store is, if it is as far as the mover thinks.
UPDATE mainstay.setting SET value = :mark::text WHERE name = 'move.mark' AND value = :was::text
