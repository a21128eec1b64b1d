-- As enqueue, for the many jobs that have none of the rarer columns, and ids that were made a moment ago: nothing can conflict
-- with them. That saves 48 bytes of log a job and a second read of the list.
WITH given AS MATERIALIZED (
    SELECT nextval('mainstay.job_seq') AS seq, u.* FROM {plain_drafts} WHERE {unruled}
), made AS (
    INSERT INTO mainstay.body (job, {plain_body}) SELECT seq, {plain_body} FROM given
)
INSERT INTO mainstay.job (seq, state, ord, {plain_job})
SELECT seq, {admit.state | NULL | :now::bigint | NULL}, {admit.ord | NULL | :now::bigint | :now::bigint}, {plain_job} FROM given
