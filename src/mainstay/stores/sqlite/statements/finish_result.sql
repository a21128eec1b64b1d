-- What a job returned, or proposes for review.
INSERT INTO mainstay_result (job, body) VALUES (?, ?) ON CONFLICT (job) DO UPDATE SET body = excluded.body
