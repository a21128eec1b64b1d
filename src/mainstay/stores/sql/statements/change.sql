-- Admits waiting jobs that the transaction has locked and changed, each at the place and for the time that its row has.
UPDATE mainstay.job AS j
SET state = {admit.state | j.run_at | :now::bigint | j.rules}, waits = {admit.waits | j.run_at | :now::bigint | j.rules | :waits::text},
    ord = {admit.ord | j.run_at | :now::bigint | j.ord}
WHERE j.seq = ANY (:seqs::bigint[])
