-- Records how an attempt ended that a sweep took for a crash. Served by the primary key.
UPDATE mainstay.attempt SET outcome = :outcome::text, error = :error::text
WHERE job = :seq::bigint AND token = :token::bigint
