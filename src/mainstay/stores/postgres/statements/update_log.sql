-- Writes log lines of the attempts that run; a line sent twice is stored once.
WITH given AS MATERIALIZED (
    SELECT * FROM {update_log}
), {current_updates}, written AS (
    INSERT INTO mainstay.log (job, token, n, at, level, stage, message, fields)
    SELECT seq, token, n, at, level, stage, message, fields FROM given
    WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT DO NOTHING
)
SELECT place FROM current
