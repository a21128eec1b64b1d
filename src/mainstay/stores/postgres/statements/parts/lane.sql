-- The jobs of lane `l`. A claim that does not look at rules leaves jobs alone for which something is charged or noted when they start.
SELECT j.ctid, j.priority, j.ord, j.seq FROM mainstay.job j
WHERE j.state = 'queued' AND j.queue = l.queue AND j.type = l.type AND (:ruled::boolean OR j.rules IS NULL OR NOT {charged})
