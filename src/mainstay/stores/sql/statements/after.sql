-- Records the parent of a job.
INSERT INTO mainstay.after (parent, child, id) VALUES (:parent::bigint, :child::bigint, :id::text) ON CONFLICT DO NOTHING
