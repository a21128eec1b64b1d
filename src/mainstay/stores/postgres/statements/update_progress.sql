-- Writes the progress of the attempts that run: one a job, in the order of seq.
WITH given AS MATERIALIZED (
    SELECT * FROM {update_progress}
), {current_updates}, written AS (
    INSERT INTO mainstay.progress AS p (job, token, at, done, total, stage)
    SELECT seq, token, at, done, total, stage FROM given
    WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT (job) DO UPDATE
    SET token = excluded.token, at = excluded.at, done = excluded.done, total = excluded.total, stage = excluded.stage
    WHERE p.token <= excluded.token
)
SELECT place FROM current
