-- The policy with which a type was declared. Served by the primary key.
SELECT policy FROM mainstay_type WHERE name = :name
