-- The one way out of running: each transition is applied only while its job runs under this token of this worker (a job has a worker
-- if and only if it runs; by its state, the planner would read all that run). A token alone is not enough: after a failover to a
-- replica that lagged behind, it may have been given twice. A job that was asked to stop may end only as cancelled or dead.
-- A key that is held while the job is alive is released when it ends; one that is held for a period keeps its job to the end
-- of that period. A job that goes back to the queue (a crash, a release) keeps its place there. One that is decided to be
-- scheduled is never queued here, even if its time is this instant: hence the millisecond.
-- A crash that was retracted meanwhile (retract_crash.sql) stays so.
-- Returns NULL if all were applied, else those that were.
WITH given AS MATERIALIZED (
    SELECT * FROM {transitions}
), done AS (
    UPDATE mainstay.job j
    SET state = CASE WHEN g.state IN ('queued', 'scheduled')
                     THEN {admit.state | CASE WHEN g.state = 'scheduled' THEN g.run_at END | g.at - 1 | j.rules} ELSE g.state END,
        ord = {admit.ord | CASE WHEN g.state = 'scheduled' THEN g.run_at END | g.at - 1 | j.ord},
        waits = CASE WHEN g.state IN ('queued', 'scheduled')
                     THEN {admit.waits | CASE WHEN g.state = 'scheduled' THEN g.run_at END | g.at - 1 | j.rules | ''} END,
        worker = NULL, attempt = g.attempt, run_at = g.run_at,
        crashes = least(g.crashes, j.crashes + CASE WHEN g.outcome IN ('crashed', 'lost_unknown') THEN 1 ELSE 0 END),
        finished_at = g.finished_at, reason = g.reason, fingerprint = g.fingerprint,
        expires_at = (
            SELECT CASE WHEN j.lock_until > e.at THEN j.lock_until ELSE e.at END
            FROM (SELECT CASE g.state WHEN 'dead' THEN g.finished_at + j.keep_dead
                                      WHEN 'cancelled' THEN coalesce(g.finished_at + j.keep_cancelled, g.expires_at)
                                      ELSE g.expires_at END AS at) AS e
        )
    FROM given g
    WHERE j.seq = ANY (ARRAY[g.seq]) AND j.worker = g.worker AND j.token = g.token
      AND (j.cancel_at IS NULL OR g.state IN ('cancelled', 'dead'))
    RETURNING j.seq, j.lock_until, j.finished_at, j.state
), tallied AS (
    INSERT INTO mainstay.tally AS t (minute, type, name, n)
    SELECT g.at / 60000, g.type, c.parts[1], sum(c.parts[2]::bigint)
    FROM given g CROSS JOIN LATERAL regexp_matches(g.counted, '(\S+) (\d+)', 'g') AS c(parts)
    WHERE CASE WHEN g.seq IN (SELECT seq FROM done) THEN true END
    GROUP BY 1, 2, 3
    ON CONFLICT (minute, type, name, writer) DO UPDATE SET n = t.n + excluded.n
), freed AS (
    UPDATE mainstay.body b SET lock = NULL
    FROM done WHERE done.lock_until = -1 AND done.finished_at IS NOT NULL AND b.job = ANY (ARRAY[done.seq])
), recorded AS (
    INSERT INTO mainstay.attempt (job, token, number, worker, started_at, ended_at, outcome, error, traceback, code)
    SELECT seq, token, number, worker, started_at, at, outcome, error, traceback, code FROM given
    WHERE outcome IS NOT NULL AND CASE WHEN seq IN (SELECT seq FROM done) THEN true END
    ON CONFLICT DO NOTHING
), parents AS (
    UPDATE mainstay.job c SET waits = '' FROM (
        SELECT w.seq FROM done JOIN mainstay.after a ON a.parent = ANY (ARRAY[done.seq]) CROSS JOIN LATERAL (
            SELECT j.seq FROM mainstay.job j WHERE j.seq = ANY (ARRAY[a.child]) AND j.waits = '|parents'
            FOR NO KEY UPDATE SKIP LOCKED
        ) w WHERE done.finished_at IS NOT NULL AND (done.state <> 'completed' OR NOT {waits_on})
    ) AS x WHERE c.seq = ANY (ARRAY[x.seq])
), kept AS (
    INSERT INTO mainstay.result (job, body)
    SELECT seq, result FROM given WHERE result IS NOT NULL AND CASE WHEN seq IN (SELECT seq FROM done) THEN true END
    ON CONFLICT (job) DO UPDATE SET body = excluded.body
)
SELECT CASE WHEN count(*) <> cardinality(:seq::bigint[]) THEN coalesce(array_agg(seq), '{}') END FROM done
