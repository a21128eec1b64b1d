-- Keeps slots that may have room for the next claim that examines lines.
INSERT OR IGNORE INTO mainstay_freed (slot) SELECT value FROM json_each(:slots)
