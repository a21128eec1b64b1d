-- Changes a setting.
INSERT INTO mainstay_setting (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value
