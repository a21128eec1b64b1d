-- Whether a claim has to look at rules: jobs are to be examined, jobs with rates to be charged or a fair place to be noted are queued, or a
-- breaker is open. A queued job with a limit holds its slot: nothing is left to be done for it.
(EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'queued' AND j.rules IS NOT NULL AND {charged})
 OR EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
 OR EXISTS (SELECT 1 FROM mainstay.rule r WHERE r.kind = 'breaker'))
