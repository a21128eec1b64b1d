-- Takes keys for ever, and returns the job that has each. In the order of keys, so that two batches cannot deadlock.
INSERT INTO mainstay.key AS k (key, type, job, since)
SELECT u.* FROM unnest(:keys::text[], :types::text[], :jobs::text[], :since::bigint[]) AS u(key, type, job, since) ORDER BY u.key, u.type
ON CONFLICT (key, type) DO UPDATE SET since = k.since
RETURNING k.job
