-- Makes a type known; the newest registration counts.
INSERT INTO mainstay.type (name, queue, signature, policy, seen_at)
VALUES (:name::text, :queue::text, :signature::text, :policy::text, :seen_at::bigint)
ON CONFLICT (name) DO UPDATE
SET queue = excluded.queue, signature = excluded.signature, policy = excluded.policy, seen_at = excluded.seen_at
