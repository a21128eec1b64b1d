-- Takes the tags of jobs away, while their bodies still say which they are. Served by the primary key.
DELETE FROM mainstay_tag WHERE (tag, job) IN (
    SELECT t.value, b.job FROM mainstay_body b, json_each(b.tags) t WHERE b.job IN (SELECT value FROM json_each(:seqs))
)
