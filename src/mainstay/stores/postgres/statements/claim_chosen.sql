-- Gives jobs that this transaction has locked to a worker. They are queued; to ask for that would let the planner walk job_lane.
WITH next AS MATERIALIZED (
    SELECT j.ctid FROM mainstay.job j WHERE j.seq = ANY (:seqs::bigint[])
), {take}
