-- Those of the given updates whose attempt runs or has completed its job, each job locked against removal. A handler that completes
-- its job in its own transaction does so before its last updates are written.
current AS MATERIALIZED (
    SELECT g.place, g.seq FROM given g JOIN mainstay.job j ON j.seq = ANY (ARRAY[g.seq])
    WHERE (j.worker IS NOT NULL OR j.state = 'completed') AND j.token = g.token
    FOR KEY SHARE OF j
)
