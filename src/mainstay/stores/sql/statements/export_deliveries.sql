-- Deliveries from a place on. Served by the primary key.
SELECT {d.DeliveryRecord} FROM mainstay.delivery d WHERE (d.job, d.token) > (:job::text, :token::bigint)
ORDER BY d.job, d.token LIMIT :limit::bigint
