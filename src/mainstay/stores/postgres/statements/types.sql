-- Every type ever declared.
SELECT name, queue, signature, policy, seen_at FROM mainstay.type ORDER BY name
