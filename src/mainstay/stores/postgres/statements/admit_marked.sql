-- Whether some blocked job is to be examined, whatever lines are. Served by the index job_blocked.
SELECT 1 WHERE EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
