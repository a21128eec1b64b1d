-- Whether some blocked job or some line is to be examined. Served by the index job_blocked.
SELECT 1 WHERE EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+') OR EXISTS (SELECT 1 FROM mainstay.freed)
