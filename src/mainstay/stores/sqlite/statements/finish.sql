-- The one door out of running: applied only while the job runs under this token of this worker. A job that was asked to stop may end
-- only as cancelled or dead. A key that holds while the job is alive is freed when it ends; one that holds for a period
-- keeps its job to the end of that period. A job that goes back to the queue (a crash, a release) keeps its place there.
-- A crash that was retracted meanwhile (retract_crash.sql) stays so.
-- One that is decided to be scheduled is never queued here, even if its time is this instant: hence the millisecond.
UPDATE mainstay_job
SET state = CASE WHEN :state IN ('queued', 'scheduled')
                 THEN {admit.state | CASE WHEN :state = 'scheduled' THEN :run_at END | :at - 1 | rules} ELSE :state END,
    ord = {admit.ord | CASE WHEN :state = 'scheduled' THEN :run_at END | :at - 1 | ord},
    waits = CASE WHEN :state IN ('queued', 'scheduled')
                 THEN {admit.waits | CASE WHEN :state = 'scheduled' THEN :run_at END | :at - 1 | rules | ''} END,
    worker = NULL, attempt = :attempt, crashes = min(:crashes, crashes + (:outcome IN ('crashed', 'lost_unknown'))),
    run_at = :run_at, finished_at = :finished_at, reason = :reason, fingerprint = :fingerprint,
    expires_at = max(CASE :state WHEN 'dead' THEN :finished_at + keep_dead
                                 WHEN 'cancelled' THEN coalesce(:finished_at + keep_cancelled, :expires_at) ELSE :expires_at END,
                     coalesce(lock_until, 0)),
    lock = CASE WHEN :finished_at IS NOT NULL AND lock_until IS NULL THEN NULL ELSE lock END
WHERE seq = :seq AND state = 'running' AND token = :token AND worker = :worker
  AND (cancel_at IS NULL OR :state IN ('cancelled', 'dead'))
