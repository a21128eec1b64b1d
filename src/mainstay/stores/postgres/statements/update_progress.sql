-- How far jobs are, from the attempts that hold them: one a job, in the order of seq.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::float8[], $5::float8[], $6::text[]) WITH ORDINALITY
                  AS u(seq, token, at, done, total, stage, place)
), current AS MATERIALIZED (
    SELECT g.place, g.seq FROM given g JOIN mainstay.job j ON j.seq = ANY (ARRAY[g.seq])
    WHERE j.worker IS NOT NULL AND j.token = g.token
    FOR KEY SHARE OF j
), written AS (
    INSERT INTO mainstay.progress AS p (job, token, at, done, total, stage)
    SELECT seq, token, at, done, total, stage FROM given
    WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT (job) DO UPDATE
    SET token = excluded.token, at = excluded.at, done = excluded.done, total = excluded.total, stage = excluded.stage
    WHERE p.token <= excluded.token
)
SELECT place FROM current
