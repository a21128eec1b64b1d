-- Deliveries to an endpoint, the newest first. Served by the index of endpoints.
SELECT {d.DeliveryRecord} FROM mainstay.delivery d WHERE d.endpoint = :endpoint::text
ORDER BY d.at DESC, d.job DESC, d.token DESC LIMIT :limit::bigint
