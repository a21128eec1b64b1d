-- Writes updates of the attempts that run or have completed their job (a handler's own transaction does so first), in the order of seq: log lines, or the last progress or checkpoint of a job. A line that is
-- sent twice is stored once; an older attempt's progress or checkpoint does not replace a newer one's. The row lock keeps the job. It is taken once a job: `jobs` and `tokens` have each attempt once.
WITH given AS MATERIALIZED (
    SELECT * FROM {update_{table}}
), current AS MATERIALIZED (
    SELECT a.seq, a.token FROM unnest(:jobs::bigint[], :tokens::bigint[]) AS a(seq, token) JOIN mainstay.job j ON j.seq = ANY (ARRAY[a.seq])
    WHERE (j.worker IS NOT NULL OR j.state = 'completed') AND j.token = a.token
    FOR KEY SHARE OF j
), written AS (
    INSERT INTO mainstay.{table} AS t (job, {columns_{table}})
    SELECT seq, {columns_{table}} FROM given WHERE CASE WHEN (seq, token) IN (SELECT seq, token FROM current) THEN true END
    ON CONFLICT {conflict_{table}}
)
SELECT count(*) FROM current
