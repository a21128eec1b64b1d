-- How many deliveries to an endpoint have failed since an instant. Served by the index of endpoints.
SELECT count(*) FROM mainstay.delivery d WHERE d.endpoint = :endpoint::text AND d.at >= :since::bigint AND d.error IS NOT NULL
