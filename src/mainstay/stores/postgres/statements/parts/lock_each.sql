-- Locks candidates `c` in their order, without waiting for those that another claimer has locked, until there are enough.
CROSS JOIN LATERAL (
    SELECT j.ctid FROM mainstay.job j WHERE j.ctid = c.ctid AND j.state = 'queued' FOR NO KEY UPDATE SKIP LOCKED
) locked
LIMIT :limit::bigint
