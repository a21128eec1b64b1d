-- Inserts jobs; nothing happens for one whose id or lock exists already; nor, as `enqueue:keyed`, whose key is taken for ever. Jobs are numbered as given and inserted in the order of
-- their locks, so that two batches with the same keys cannot deadlock. The rows that were inserted are found in a hashed set
-- (the CASE keeps it one): a join of two lists would compare each with each. The count of the statement is that of new jobs.
WITH given AS MATERIALIZED (
    SELECT nextval('mainstay.job_seq') AS seq, u.* FROM {drafts} WHERE {unruled}
), made AS (
    INSERT INTO mainstay.body (job, {draft_body}) SELECT seq, {draft_body} FROM given {free_{table}} ORDER BY lock, seq
    ON CONFLICT DO NOTHING
    RETURNING job
), tagged AS (
    INSERT INTO mainstay.tag (tag, job)
    SELECT t.tag, g.seq FROM given g CROSS JOIN LATERAL json_array_elements_text(g.tags::json) AS t(tag)
    WHERE g.tags IS NOT NULL AND CASE WHEN g.seq IN (SELECT job FROM made) THEN true END
    ON CONFLICT DO NOTHING
)
INSERT INTO mainstay.job (seq, state, ord, waits, {draft_job})
SELECT seq, {admit.state | run_at | :now::bigint | waits}, {admit.ord | run_at | :now::bigint | :now::bigint},
       {admit.waits | run_at | :now::bigint | waits | waits}, {draft_job}
FROM given WHERE CASE WHEN seq IN (SELECT job FROM made) THEN true END
