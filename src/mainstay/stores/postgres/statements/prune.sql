-- Ended jobs whose retention is over, the longest over first, each for one who prunes. Served by job_expiry.
SELECT j.seq FROM mainstay.job j WHERE j.expires_at <= (SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))
ORDER BY j.expires_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED
