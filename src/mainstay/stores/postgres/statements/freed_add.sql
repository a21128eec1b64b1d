-- Keeps slots that may have room for the next claim that examines lines.
INSERT INTO mainstay.freed (slots) VALUES (:slots::text[])
