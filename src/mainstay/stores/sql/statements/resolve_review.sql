-- Ends the review of a job that the transaction has locked. A key that is held for a period keeps its job that long.
UPDATE mainstay.job AS j
SET state = :state::text, finished_at = :now::bigint, reason = :reason::text,
    expires_at = CASE WHEN :state::text = 'completed' THEN {retained} END
FROM mainstay.body b WHERE b.job = ANY (ARRAY[j.seq]) AND j.seq = ANY (:seqs::bigint[])
