-- Numbers for new jobs: AUTOINCREMENT keeps the last that was ever given.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'mainstay_job'), 0) + 1 + key FROM json_each(:ids)
