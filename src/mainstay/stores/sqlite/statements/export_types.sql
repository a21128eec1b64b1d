-- Every declared type: there are few.
SELECT name, queue, signature, policy, seen_at FROM mainstay_type ORDER BY name
