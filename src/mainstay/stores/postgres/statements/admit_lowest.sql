-- Queued holders of some slots with a lower priority, the first to give way; locked, so that no operator ends them meanwhile. Each holder is
-- looked up by itself: joined, the planner may read all queued jobs for each. Served by the primary keys.
SELECT x.slot, j.seq, j.queue, j.type, j.priority, j.ord, j.rules, ''
FROM (
    SELECT h.slot, w.seq FROM mainstay.hold h CROSS JOIN LATERAL (
        SELECT j.seq, j.priority, j.ord FROM mainstay.job j WHERE j.seq = ANY (ARRAY[h.job]) AND (j.state || '') = 'queued' AND j.priority < :priority::bigint OFFSET 0
    ) w WHERE h.slot = ANY (:slots::text[]) ORDER BY w.priority, w.ord DESC, w.seq DESC LIMIT :limit::bigint
) x CROSS JOIN LATERAL (
    SELECT j.seq, j.queue, j.type, j.priority, j.ord, j.rules FROM mainstay.job j
    WHERE j.seq = ANY (ARRAY[x.seq]) AND (j.state || '') = 'queued' FOR UPDATE SKIP LOCKED
) j
