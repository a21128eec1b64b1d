-- Queues jobs that the transaction has locked, with fresh attempts; or schedules them for the time on their row ({table}).
-- The token stays: it only grows.
UPDATE mainstay.job AS j
SET state = {admit.state | {table} | :now::bigint | rules}, waits = {admit.waits | {table} | :now::bigint | rules | ''},
    ord = {admit.ord | {table} | :now::bigint | :now::bigint},
    attempt = 0, crashes = 0, run_at = {table}, start_by = NULL, finished_at = NULL, expires_at = NULL, cancel_at = NULL, reason = NULL
WHERE j.seq = ANY (:seqs::bigint[])
