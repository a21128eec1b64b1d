-- Queued jobs with rules of a queue, of a type or of all. Few: as many as limits and rates let pass. One that another transaction has
-- locked is left to the chore. The order leaves job_ruled alone to find them (see parts/ruled.sql).
SELECT j.seq, j.rules FROM mainstay.job j
WHERE j.state = 'queued' AND j.rules IS NOT NULL AND j.queue = coalesce(:queue::text, j.queue) AND j.type = coalesce(:type::text, j.type)
ORDER BY {charged} DESC, j.seq DESC LIMIT :limit::bigint {skip_locked}
