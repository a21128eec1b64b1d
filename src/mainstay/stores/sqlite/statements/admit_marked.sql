-- Whether something else than a line is to be examined, or lanes are closed. Served by mainstay_job_blocked and a primary key.
SELECT 1 WHERE EXISTS (SELECT 1 FROM mainstay_job WHERE state = 'blocked' AND waits <= '+')
   OR EXISTS (SELECT 1 FROM mainstay_rule WHERE kind < 'queue' AND kind <> 'limit')
