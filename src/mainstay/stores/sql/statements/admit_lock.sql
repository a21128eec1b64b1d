-- The instant by which jobs are examined. PostgreSQL takes the lock of the installation first.
SELECT {now}
