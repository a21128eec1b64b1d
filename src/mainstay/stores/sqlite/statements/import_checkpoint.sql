-- What a moved job last saved.
INSERT INTO mainstay_checkpoint (job, token, at, body) VALUES (?, ?, ?, ?)
