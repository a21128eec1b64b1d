-- Removes the slots up to a number: their lines were looked at.
DELETE FROM mainstay_freed WHERE n <= :last
