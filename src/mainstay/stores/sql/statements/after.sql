-- Records the parents of a job. Served by the primary key.
INSERT INTO mainstay.after (parent, child, id)
SELECT i.{number}, :child::bigint, i.id FROM {ids} i WHERE i.{number} = ANY (:parents::bigint[]) ON CONFLICT DO NOTHING
