-- The policies with which types were declared. Served by the primary key.
SELECT name, policy FROM mainstay.type WHERE name = ANY ($1::text[])
