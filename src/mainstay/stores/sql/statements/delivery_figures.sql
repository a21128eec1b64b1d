-- How the deliveries to an endpoint went. Served by the index of endpoints.
SELECT count(*) FILTER (WHERE d.error IS NOT NULL AND d.at >= :since::bigint), count(*) FILTER (WHERE d.error IS NULL),
    count(*) FILTER (WHERE d.error IS NOT NULL), coalesce(sum(d.ms) FILTER (WHERE d.error IS NULL), 0), max(d.at) FILTER (WHERE d.error IS NULL)
FROM mainstay.delivery d WHERE d.endpoint = :endpoint::text
