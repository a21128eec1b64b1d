-- Asks a running job to stop.
UPDATE mainstay_job SET cancel_at = coalesce(cancel_at, :now) WHERE id = :id AND state = 'running'
