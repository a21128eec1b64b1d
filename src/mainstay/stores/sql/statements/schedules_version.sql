-- How often schedules were changed, and the engine's instant. Served by the primary key.
SELECT coalesce((SELECT value FROM mainstay.meter WHERE name = 'schedules'), 0), {now}
