-- Counts a crash of a job no longer, if a sweep has recorded this attempt as one and the job has not ended. Served by the primary
-- keys.
UPDATE mainstay.job SET crashes = crashes - 1
WHERE seq = :seq::bigint AND crashes > 0 AND finished_at IS NULL
  AND EXISTS (SELECT 1 FROM mainstay.attempt a WHERE a.job = :seq::bigint AND a.token = :token::bigint
                AND a.worker = :worker::text AND a.outcome IN ('crashed', 'lost_unknown'))
