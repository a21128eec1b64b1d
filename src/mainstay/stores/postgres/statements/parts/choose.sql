-- The end of a claim that looks at rules: the jobs that it has locked, for `claim_chosen` to take. They come in any order.
chosen AS MATERIALIZED (SELECT next.ctid FROM next)
SELECT j.seq, j.ord, j.rules FROM chosen JOIN mainstay.job j ON j.ctid = chosen.ctid ORDER BY j.priority DESC, j.ord, j.seq
