-- One setting. Served by the primary key.
SELECT value FROM mainstay_setting WHERE name = :name
