-- One line of the audit trail.
INSERT INTO mainstay_action (at, actor, action, job, detail) VALUES (?, ?, ?, ?, ?)
