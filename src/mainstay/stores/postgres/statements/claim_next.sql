-- In how many milliseconds the next job is due, and whether the next claim has to look at rules. Served by job_due.
SELECT (SELECT j.run_at - {statement_now} FROM mainstay.job j WHERE j.state = 'scheduled' ORDER BY j.run_at LIMIT 1), {ruled}
