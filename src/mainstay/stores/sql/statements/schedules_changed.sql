-- Counts the changes of schedules.
INSERT INTO mainstay.meter AS m (name, value) VALUES ('schedules', 1) ON CONFLICT (name) DO UPDATE SET value = m.value + 1
