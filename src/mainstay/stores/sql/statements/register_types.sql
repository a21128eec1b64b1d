-- Makes a type known; the newest registration counts. `updated_at` changes only if the declaration does.
INSERT INTO mainstay.type AS t (name, queue, signature, policy, seen_at, description, takes, created_at, updated_at)
VALUES (:name::text, :queue::text, :signature::text, :policy::text, :seen_at::bigint, :description::text, :takes::text, :seen_at::bigint, :seen_at::bigint)
ON CONFLICT (name) DO UPDATE
SET queue = excluded.queue, signature = excluded.signature, policy = excluded.policy, seen_at = excluded.seen_at,
    description = excluded.description, takes = excluded.takes, created_at = coalesce(t.created_at, excluded.created_at),
    updated_at = CASE
        WHEN t.updated_at IS NOT NULL AND t.queue = excluded.queue AND t.signature = excluded.signature AND t.policy = excluded.policy
             AND coalesce(t.description, '') = coalesce(excluded.description, '') AND coalesce(t.takes, '') = coalesce(excluded.takes, '')
        THEN t.updated_at ELSE excluded.updated_at END
