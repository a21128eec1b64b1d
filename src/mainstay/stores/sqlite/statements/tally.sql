-- Counts (core/tally.py).
INSERT INTO mainstay_tally (minute, type, name, n) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n
