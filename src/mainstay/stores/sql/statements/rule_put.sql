-- Stores a rule.
INSERT INTO mainstay.rule (kind, name, value, actor, at, reason)
VALUES (:kind::text, :name::text, :value::text, :actor::text, :at::bigint, :reason::text)
ON CONFLICT (kind, name) DO UPDATE
SET value = excluded.value, actor = excluded.actor, at = excluded.at, reason = excluded.reason
