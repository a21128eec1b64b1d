-- Lets jobs in line hold the slots at which they stand. Served by the primary key.
INSERT INTO mainstay_hold (slot, job) SELECT j.waits, j.seq FROM json_each(:seqs) s CROSS JOIN mainstay_job j ON j.seq = s.value
