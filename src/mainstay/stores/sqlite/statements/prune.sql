-- Ended jobs whose retention is over. Served by mainstay_job_expiry.
SELECT seq FROM mainstay_job WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
