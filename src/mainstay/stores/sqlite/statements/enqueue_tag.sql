-- One tag of a job, for search.
INSERT OR IGNORE INTO mainstay_tag (tag, job) VALUES (?, ?)
