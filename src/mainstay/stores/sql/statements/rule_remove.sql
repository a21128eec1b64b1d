-- Removes a rule.
DELETE FROM mainstay.rule WHERE kind = :kind::text AND name = :name::text
