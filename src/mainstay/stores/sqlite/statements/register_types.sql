-- Makes a type known; the newest declaration counts.
INSERT INTO mainstay_type (name, queue, signature, policy, seen_at) VALUES (:name, :queue, :signature, :policy, :seen_at)
ON CONFLICT (name) DO UPDATE
SET queue = excluded.queue, signature = excluded.signature, policy = excluded.policy, seen_at = excluded.seen_at
