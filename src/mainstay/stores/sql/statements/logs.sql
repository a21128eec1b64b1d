-- Log lines of a job in order. Served by the primary key.
SELECT {l.LogLine} FROM mainstay.log l
WHERE l.job = {seq_of_id} ORDER BY l.token, l.n LIMIT :limit::bigint OFFSET :after::bigint
