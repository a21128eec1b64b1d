-- Whether a claim has to look at rules: jobs are to be examined, jobs with rules are queued, or a breaker is open.
(EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.rules IS NOT NULL)
 OR EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
 OR EXISTS (SELECT 1 FROM mainstay.rule r WHERE r.kind = 'breaker'))
