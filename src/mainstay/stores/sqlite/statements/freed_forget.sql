-- Removes slots that are examined now.
DELETE FROM mainstay_freed WHERE slot IN (SELECT value FROM json_each(:slots))
