-- The last number that was ever given to a job.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'mainstay_job'), 0)
