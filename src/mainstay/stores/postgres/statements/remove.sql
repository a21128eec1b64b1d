-- Deletes jobs that the transaction has locked, with all that belongs to them.
WITH gone AS MATERIALIZED (SELECT u.seq FROM unnest($1::bigint[]) AS u(seq)),
untagged AS (
    DELETE FROM mainstay.tag t
    USING gone g JOIN mainstay.body b ON b.job = ANY (ARRAY[g.seq])
          CROSS JOIN LATERAL json_array_elements_text(b.tags::json) AS old(tag)
    WHERE t.tag = ANY (ARRAY[old.tag]) AND t.job = ANY (ARRAY[g.seq])
),
attempts AS (DELETE FROM mainstay.attempt USING gone g WHERE job = ANY (ARRAY[g.seq])),
logs AS (DELETE FROM mainstay.log USING gone g WHERE job = ANY (ARRAY[g.seq])),
results AS (DELETE FROM mainstay.result USING gone g WHERE job = ANY (ARRAY[g.seq])),
checkpoints AS (DELETE FROM mainstay.checkpoint USING gone g WHERE job = ANY (ARRAY[g.seq])),
progresses AS (DELETE FROM mainstay.progress USING gone g WHERE job = ANY (ARRAY[g.seq])),
bodies AS (DELETE FROM mainstay.body USING gone g WHERE job = ANY (ARRAY[g.seq]))
DELETE FROM mainstay.job j USING gone g WHERE j.seq = ANY (ARRAY[g.seq])
