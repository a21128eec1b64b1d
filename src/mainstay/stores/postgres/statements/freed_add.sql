-- Keeps slots that may have room for the next claim that examines lines.
INSERT INTO mainstay.freed (slots, running) VALUES (:slots::text[], array_fill(NULL::bigint, ARRAY[cardinality(:slots::text[])]))
