-- A declared type.
INSERT INTO mainstay_type (name, queue, signature, policy, seen_at) VALUES (?, ?, ?, ?, ?)
