-- Those of the given updates whose attempt runs, each job locked against removal.
current AS MATERIALIZED (
    SELECT g.place, g.seq FROM given g JOIN mainstay.job j ON j.seq = ANY (ARRAY[g.seq])
    WHERE j.worker IS NOT NULL AND j.token = g.token
    FOR KEY SHARE OF j
)
