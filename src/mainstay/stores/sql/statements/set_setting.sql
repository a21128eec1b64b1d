-- Changes a setting. Without a description it keeps the one it has.
INSERT INTO mainstay.setting AS s (name, value, description, updated_at)
VALUES (:name::text, :value::text, :description::text, :now::bigint)
ON CONFLICT (name) DO UPDATE
SET value = excluded.value, description = coalesce(excluded.description, s.description), updated_at = excluded.updated_at
