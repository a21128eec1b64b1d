-- Removes a setting.
DELETE FROM mainstay.setting WHERE name = :name::text
