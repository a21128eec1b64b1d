-- Declared types.
INSERT INTO mainstay.type (name, queue, signature, policy, seen_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
