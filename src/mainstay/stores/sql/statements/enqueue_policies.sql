-- The policies with which types were registered. Served by the primary key.
SELECT name, policy FROM mainstay.type WHERE name = ANY (:types::text[])
