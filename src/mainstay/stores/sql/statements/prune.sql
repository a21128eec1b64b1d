-- Ended jobs whose retention is over, the longest over first, without those that another process removes now. Served by the
-- index job_expiry.
SELECT j.seq FROM mainstay.job j WHERE j.expires_at <= {now}
  AND NOT EXISTS (SELECT 1 FROM mainstay.after a WHERE a.parent = ANY (ARRAY[j.seq]))
ORDER BY j.expires_at LIMIT :limit::bigint {skip_locked}
