-- Whether a claim has to look at rules: jobs are to be examined, jobs with rates to be charged or a fair place to be noted are queued, or a
-- breaker is open. A queued job with a limit holds its slot: nothing is left to be done for it. The order leaves job_ruled alone to find the
-- second: if many jobs have rules, the planner takes one to be near, and would read all queued jobs.
((SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.rules IS NOT NULL AND {charged} ORDER BY {charged} DESC, j.seq DESC LIMIT 1) IS NOT NULL
 OR EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
 OR EXISTS (SELECT 1 FROM mainstay.rule r WHERE r.kind = 'breaker'))
