-- What was asked, beside its job.
INSERT INTO mainstay_body (job, payload, key, tenant, ref, tags, parent) VALUES (?, ?, ?, ?, ?, ?, ?)
