-- One setting. Served by the primary key.
SELECT value FROM mainstay.setting WHERE name = :name::text
