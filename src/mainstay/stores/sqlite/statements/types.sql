-- Every type ever declared.
SELECT name, queue, signature, policy, seen_at FROM mainstay_type ORDER BY name
