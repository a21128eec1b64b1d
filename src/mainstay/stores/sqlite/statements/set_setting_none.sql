-- Removes a setting.
DELETE FROM mainstay_setting WHERE name = :name
