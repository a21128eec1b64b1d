-- Changes a setting.
INSERT INTO mainstay.setting (name, value) VALUES (:name::text, :value::text)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
