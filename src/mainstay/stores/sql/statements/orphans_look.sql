-- Whether a worker's lease has expired or a running job has no worker or is far past its timeout.
SELECT 1 WHERE EXISTS (SELECT 1 FROM mainstay.worker WHERE expires_at <= {lease_now})
   OR EXISTS (SELECT 1 FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
              WHERE j.state = 'running' AND {orphaned})
