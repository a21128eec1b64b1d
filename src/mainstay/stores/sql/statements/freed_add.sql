-- Keeps slots that may have room for the next claim that examines lines.
INSERT INTO mainstay.freed (slot) SELECT unnest(:slots::text[])
