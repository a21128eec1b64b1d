-- What a moved job returned.
INSERT INTO mainstay_result (job, body) VALUES (?, ?)
