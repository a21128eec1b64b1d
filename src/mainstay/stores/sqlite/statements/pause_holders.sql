-- Queued jobs of a queue, of a type or of all that hold slots. Served by the primary keys: there are as many holds as limits and rates let pass.
-- One that is queued and has rules but no slot stays: a claim leaves its lane out.
SELECT j.seq, j.rules FROM (SELECT DISTINCT job FROM mainstay_hold) h CROSS JOIN mainstay_job j
WHERE j.seq = h.job AND j.state = 'queued' AND j.queue = coalesce(:queue, j.queue) AND j.type = coalesce(:type, j.type)
LIMIT :limit
