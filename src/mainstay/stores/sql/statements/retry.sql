-- Queues jobs that the transaction has locked, with fresh attempts. The token stays: it only grows.
UPDATE mainstay.job AS j
SET state = {admit.state | NULL | :now::bigint | rules}, waits = {admit.waits | NULL | :now::bigint | rules | ''}, ord = {admit.ord | NULL | :now::bigint | :now::bigint},
    attempt = 0, crashes = 0, run_at = NULL, start_by = NULL, finished_at = NULL, expires_at = NULL, cancel_at = NULL, reason = NULL
WHERE j.seq = ANY (:seqs::bigint[])
