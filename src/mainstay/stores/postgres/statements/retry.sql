-- Queues jobs now with fresh attempts, which the transaction has locked in a state that allows it, and forgets what an
-- attempt proposed for review: the next one may return nothing. The token stays: it only grows.
WITH chosen AS MATERIALIZED (SELECT u.seq FROM unnest($1::bigint[]) AS u(seq)),
forgotten AS (DELETE FROM mainstay.result USING chosen c WHERE job = ANY (ARRAY[c.seq]))
UPDATE mainstay.job j
SET state = 'queued', attempt = 0, crashes = 0, run_at = NULL, ord = $2::bigint, finished_at = NULL, expires_at = NULL,
    cancel_at = NULL, reason = NULL
FROM chosen c WHERE j.seq = ANY (ARRAY[c.seq])
