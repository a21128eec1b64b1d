-- Ends jobs that do not run and that the transaction has locked. A key that is held for a period keeps its job that long.
UPDATE mainstay.job AS j
SET state = :state::text, finished_at = :now::bigint, run_at = NULL, waits = NULL, reason = :reason::text,
    cancel_at = CASE WHEN :state::text = 'cancelled' THEN :now::bigint END,
    expires_at = {retained}
FROM mainstay.body b WHERE b.job = ANY (ARRAY[j.seq]) AND j.seq = ANY (:seqs::bigint[])
