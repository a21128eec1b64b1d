-- The jobs of queue `u`, of which the first of a type is the head of its lane.
SELECT j.type, j.priority, j.ord, j.seq FROM mainstay.job j WHERE j.state = 'queued' AND j.queue = u.queue
