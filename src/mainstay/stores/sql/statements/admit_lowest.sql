-- Queued holders of some slots with a lower priority, the first to give way first; locked, so that no operator ends them meanwhile.
-- Served by the primary keys.
SELECT h.slot, j.seq, j.queue, j.type, j.priority, j.ord, j.rules, ''
FROM mainstay.hold h JOIN mainstay.job j ON j.seq = ANY (ARRAY[h.job])
WHERE h.slot = ANY (:slots::text[]) AND j.state = 'queued' AND j.priority < :priority::bigint
ORDER BY j.priority, j.ord DESC, j.seq DESC LIMIT :limit::bigint {skip_locked}
