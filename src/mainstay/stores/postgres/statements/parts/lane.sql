-- The jobs of lane `l`.
SELECT j.ctid, j.priority, j.ord, j.seq FROM mainstay.job j
WHERE j.state = 'queued' AND j.queue = l.queue AND j.type = l.type
