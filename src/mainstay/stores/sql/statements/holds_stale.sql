-- Holds of jobs that are neither queued nor running, nor scheduled by a rate: code that does not know holds has moved them.
SELECT h.slot, h.job FROM mainstay.hold h
WHERE NOT EXISTS (
    SELECT 1 FROM mainstay.job j WHERE j.seq = ANY (ARRAY[h.job]) AND j.state IN ('queued', 'running', 'scheduled', 'blocked')
) LIMIT :limit::bigint
