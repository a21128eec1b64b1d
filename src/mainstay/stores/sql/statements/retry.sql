-- Queues jobs that the transaction has locked, with fresh attempts. The token stays: it only grows.
UPDATE mainstay.job AS j
SET state = 'queued', attempt = 0, crashes = 0, run_at = NULL, ord = :now::bigint, finished_at = NULL, expires_at = NULL,
    cancel_at = NULL, reason = NULL
WHERE j.seq = ANY (:seqs::bigint[])
