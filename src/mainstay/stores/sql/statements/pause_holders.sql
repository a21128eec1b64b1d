-- Queued jobs with rules of a queue, of a type or of all. Few: as many as limits and rates let pass. One that another transaction has
-- locked is left to the chore.
SELECT j.seq, j.rules FROM mainstay.job j
WHERE j.state = 'queued' AND j.rules IS NOT NULL AND j.queue = coalesce(:queue::text, j.queue) AND j.type = coalesce(:type::text, j.type)
LIMIT :limit::bigint {skip_locked}
