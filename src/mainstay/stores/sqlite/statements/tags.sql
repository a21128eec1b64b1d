-- The tags of jobs, as their bodies tell them. Served by the primary keys.
SELECT t.value, b.job FROM mainstay_body b, json_each(b.tags) t WHERE b.job IN (SELECT value FROM json_each(:seqs))
