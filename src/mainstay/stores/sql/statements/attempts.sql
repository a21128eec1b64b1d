-- The recorded attempts of a job. Served by the primary key.
SELECT {a.Attempt} FROM mainstay.attempt a WHERE a.job = {seq_of_id} ORDER BY a.token
