-- Marks the first jobs that wait for the end of a pause. Served by the index job_blocked.
UPDATE mainstay.job AS c SET waits = '' FROM (
    SELECT j.seq FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = :waits::text
    ORDER BY j.priority DESC, j.ord, j.seq LIMIT :limit::bigint {skip_locked}
) AS x WHERE c.seq = ANY (ARRAY[x.seq])
