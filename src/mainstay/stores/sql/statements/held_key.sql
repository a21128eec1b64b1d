-- The job that has taken a key for ever. Served by the primary key.
SELECT k.job FROM mainstay.key k WHERE k.key = :key::text AND k.type = :type::text
