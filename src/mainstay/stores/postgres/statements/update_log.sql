-- Log lines, from the attempts that hold the jobs; a line sent twice is kept once, and is still current.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[],
                         $8::text[]) WITH ORDINALITY
                  AS u(seq, token, n, at, level, stage, message, fields, place)
), current AS MATERIALIZED (
    SELECT g.place, g.seq FROM given g JOIN mainstay.job j ON j.seq = ANY (ARRAY[g.seq])
    WHERE j.worker IS NOT NULL AND j.token = g.token
    FOR KEY SHARE OF j
), written AS (
    INSERT INTO mainstay.log (job, token, n, at, level, stage, message, fields)
    SELECT seq, token, n, at, level, stage, message, fields FROM given
    WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT DO NOTHING
)
SELECT place FROM current
