-- What next attempts start from, from the attempts that hold the jobs: one a job, in the order of seq. The lock keeps a job
-- from being removed meanwhile; a late word of an older attempt does not take the place of a newer one's.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) WITH ORDINALITY
                  AS u(seq, token, at, body, place)
), current AS MATERIALIZED (
    SELECT g.place, g.seq FROM given g JOIN mainstay.job j ON j.seq = ANY (ARRAY[g.seq])
    WHERE j.worker IS NOT NULL AND j.token = g.token
    FOR KEY SHARE OF j
), written AS (
    INSERT INTO mainstay.checkpoint AS c (job, token, at, body)
    SELECT seq, token, at, body FROM given WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT (job) DO UPDATE SET token = excluded.token, at = excluded.at, body = excluded.body
    WHERE c.token <= excluded.token
)
SELECT place FROM current
