-- Those of these jobs that have no fingerprint.
SELECT j.seq FROM mainstay.job j WHERE j.seq = ANY (:seqs::bigint[]) AND j.fingerprint IS NULL
