-- Deliveries that are older than :keep ms. Served by the index of times.
SELECT d.job, d.token FROM mainstay.delivery d WHERE d.at < {now} - :keep::bigint ORDER BY d.at LIMIT :limit::bigint
