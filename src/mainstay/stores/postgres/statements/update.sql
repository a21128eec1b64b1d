-- Writes updates of the attempts that run, in the order of seq: log lines, or the last progress or checkpoint of a job. A line that is
-- sent twice is stored once; an older attempt's progress or checkpoint does not replace a newer one's. The row lock keeps the job.
WITH given AS MATERIALIZED (
    SELECT * FROM {update_{table}}
), current AS MATERIALIZED (
    SELECT g.place, g.seq FROM given g JOIN mainstay.job j ON j.seq = ANY (ARRAY[g.seq])
    WHERE j.worker IS NOT NULL AND j.token = g.token
    FOR KEY SHARE OF j
), written AS (
    INSERT INTO mainstay.{table} AS t (job, {columns_{table}})
    SELECT seq, {columns_{table}} FROM given WHERE CASE WHEN place IN (SELECT place FROM current) THEN true END
    ON CONFLICT {conflict_{table}}
)
SELECT place FROM current
