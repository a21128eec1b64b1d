-- Adds a bulk action to the jobs that it changes.
INSERT INTO mainstay.acted AS x (job, bulks) SELECT seq, :bulk::text FROM mainstay.job WHERE seq = ANY (:seqs::bigint[])
ON CONFLICT (job) DO UPDATE SET bulks = x.bulks || ' ' || excluded.bulks
