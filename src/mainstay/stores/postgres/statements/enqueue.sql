-- Accepts jobs; nothing happens to one whose id or lock is there already. Numbered as given, inserted in the order of their
-- locks, so that two batches with the same keys do not wait for each other in a circle. What was inserted is looked up in
-- a hashed set (the CASE keeps it one): a join of two lists would compare each with each. Answers how many are new.
WITH given AS MATERIALIZED (
    SELECT nextval('mainstay.job_seq') AS seq, u.*
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::bigint[],
                $16::text[], $17::text[], $18::text[], $19::text[], $20::text[])
         AS u(id, type, queue, state, priority, ord, run_at, max_attempts, timeout, keep, created_at, backoff, payload,
              lock, lock_until, key, tenant, ref, tags, parent)
), made AS (
    INSERT INTO mainstay.body (job, created_at, timeout, keep, max_attempts, id, payload, backoff, lock, key, tenant, ref,
                               tags, parent)
    SELECT seq, created_at, timeout, keep, max_attempts, id, payload, backoff, lock, key, tenant, ref, tags, parent
    FROM given ORDER BY lock, seq
    ON CONFLICT DO NOTHING
    RETURNING job
), tagged AS (
    INSERT INTO mainstay.tag (tag, job)
    SELECT t.tag, g.seq FROM given g CROSS JOIN LATERAL json_array_elements_text(g.tags::json) AS t(tag)
    WHERE g.tags IS NOT NULL AND CASE WHEN g.seq IN (SELECT job FROM made) THEN true END
    ON CONFLICT DO NOTHING
)
INSERT INTO mainstay.job (seq, ord, priority, queue, type, lock_until, run_at, state)
SELECT seq, ord, priority, queue, type, CASE WHEN lock IS NOT NULL THEN coalesce(lock_until, -1) END, run_at, state
FROM given WHERE CASE WHEN seq IN (SELECT job FROM made) THEN true END
