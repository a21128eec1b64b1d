-- Begins to count new jobs, from an instant on.
INSERT INTO mainstay.tally (minute, type, name, {writer} n) VALUES (0, '', 'enqueued', {nobody} :since::bigint) ON CONFLICT DO NOTHING
