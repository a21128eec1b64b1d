-- The one door out of running: each is applied only while its job runs under this token (a job has a worker if and only if
-- it runs; asked by its state, the planner would walk all that run). A job that was asked to stop may end only as
-- cancelled or dead. A key that holds while the job is alive is let go when it ends; one that holds for a period keeps its
-- job to the end of that period. What goes back to the queue (a crash, a hand-back) keeps its place there.
-- Answers NULL when all were applied, else those that were.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                         $8::bigint[], $9::text[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::text[],
                         $15::text[], $16::text[], $17::text[])
                  AS u(seq, token, state, attempt, crashes, run_at, finished_at, expires_at, reason, number, worker,
                       started_at, at, outcome, error, traceback, result)
), done AS (
    UPDATE mainstay.job j
    SET state = g.state, worker = NULL, attempt = g.attempt, crashes = g.crashes, run_at = g.run_at,
        ord = CASE WHEN g.state = 'queued' THEN j.ord ELSE coalesce(g.run_at, j.ord) END,
        finished_at = g.finished_at, reason = g.reason,
        expires_at = CASE WHEN g.expires_at IS NOT NULL AND j.lock_until > g.expires_at THEN j.lock_until ELSE g.expires_at END
    FROM given g
    WHERE j.seq = ANY (ARRAY[g.seq]) AND j.worker IS NOT NULL AND j.token = g.token
      AND (j.cancel_at IS NULL OR g.state IN ('cancelled', 'dead'))
    RETURNING j.seq, j.lock_until, j.finished_at
), freed AS (
    UPDATE mainstay.body b SET lock = NULL
    FROM done WHERE done.lock_until = -1 AND done.finished_at IS NOT NULL AND b.job = ANY (ARRAY[done.seq])
), recorded AS (
    INSERT INTO mainstay.attempt (job, token, number, worker, started_at, ended_at, outcome, error, traceback)
    SELECT seq, token, number, worker, started_at, at, outcome, error, traceback FROM given
    WHERE outcome IS NOT NULL AND CASE WHEN seq IN (SELECT seq FROM done) THEN true END
    ON CONFLICT DO NOTHING
), kept AS (
    INSERT INTO mainstay.result (job, body)
    SELECT seq, result FROM given WHERE result IS NOT NULL AND CASE WHEN seq IN (SELECT seq FROM done) THEN true END
    ON CONFLICT (job) DO UPDATE SET body = excluded.body
)
SELECT CASE WHEN count(*) <> cardinality($1::bigint[]) THEN coalesce(array_agg(seq), '{}') END FROM done
