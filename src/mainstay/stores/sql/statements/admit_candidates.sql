-- Blocked jobs that are to be examined. Served by the index job_blocked: no slot's name sorts before '+'.
SELECT j.seq, j.queue, j.type, j.priority, j.ord, j.rules, j.waits FROM mainstay.job j
WHERE j.state = 'blocked' AND j.waits <= '+' ORDER BY j.waits, j.priority DESC, j.ord, j.seq LIMIT :limit::bigint {skip_locked}
