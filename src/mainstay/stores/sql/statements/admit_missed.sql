-- Whether there are blocked jobs or holds at all.
SELECT 1 WHERE EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked') OR EXISTS (SELECT 1 FROM mainstay.hold)
