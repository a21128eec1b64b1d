-- Removes a setting.
DELETE FROM mainstay.setting WHERE name = $1::text
