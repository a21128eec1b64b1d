-- Writes checkpoints of the attempts that run: one a job, in the order of seq. The row lock keeps a job from being removed
-- meanwhile; a late checkpoint of an older attempt does not replace that of a newer one.
WITH given AS MATERIALIZED (
    SELECT * FROM {update_checkpoint}
), {current_updates}, written AS (
    INSERT INTO mainstay.checkpoint AS c (job, token, at, body)
    SELECT seq, token, at, body FROM given WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT (job) DO UPDATE SET token = excluded.token, at = excluded.at, body = excluded.body
    WHERE c.token <= excluded.token
)
SELECT place FROM current
