-- Makes types known; the newest declaration counts.
INSERT INTO mainstay.type (name, queue, signature, policy, seen_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS u(name, queue, signature, policy, seen_at)
ORDER BY u.name
ON CONFLICT (name) DO UPDATE
SET queue = excluded.queue, signature = excluded.signature, policy = excluded.policy, seen_at = excluded.seen_at
