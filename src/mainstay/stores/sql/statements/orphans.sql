-- Running jobs without a worker or far past their timeout. Served by the index job_running: one entry a running job.
SELECT {Orphaned}, {gone}
FROM mainstay.job j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
WHERE j.state = 'running' AND {orphaned}
ORDER BY {gone} DESC
LIMIT :limit::bigint
