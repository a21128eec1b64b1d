-- Which of these jobs no open transaction holds. Served by the primary key.
SELECT seq FROM mainstay.job WHERE seq = ANY ($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED
