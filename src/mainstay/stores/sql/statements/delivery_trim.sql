-- Deletes up to two deliveries to an endpoint beyond the last :most; one that failed within :window ms is counted yet, and stays.
DELETE FROM mainstay.delivery WHERE (job, token) IN (
    SELECT d.job, d.token FROM mainstay.delivery d
    WHERE d.endpoint = :endpoint::text AND (d.error IS NULL OR d.at < {now} - :window::bigint)
    AND d.at < (SELECT k.at FROM mainstay.delivery k WHERE k.endpoint = :endpoint::text ORDER BY k.at DESC LIMIT 1 OFFSET :most::bigint - 1)
    ORDER BY d.at LIMIT 2
)
