-- Every declared type: there are few.
SELECT name, queue, signature, policy, seen_at FROM mainstay.type ORDER BY name
