-- Jobs as they were elsewhere, numbered in the order given, with what stands beside them. A key that holds, or held, while
-- its job is alive is -1 here (0001_initial.sql).
WITH given AS MATERIALIZED (
    SELECT nextval('mainstay.job_seq') AS seq, u.*
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[],
                $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::bigint[],
                $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::text[],
                $24::text[], $25::text[], $26::text[], $27::text[], $28::text[], $29::text[],
                $30::text[], $31::text[], $32::double precision[], $33::double precision[],
                $34::text[])
         AS u(id, type, queue, state, priority, ord, run_at, attempt, max_attempts, crashes, token, worker, lock,
              lock_until, timeout, keep, backoff, created_at, started_at, finished_at, expires_at,
              cancel_at, reason, payload, key, tenant, ref, tags, parent, result, checkpoint, done,
              total, stage)
), bodies AS (
    INSERT INTO mainstay.body (job, created_at, timeout, keep, max_attempts, id, payload, backoff, lock, key, tenant, ref,
                               tags, parent)
    SELECT seq, created_at, timeout, keep, max_attempts, id, payload, backoff, lock, key, tenant, ref, tags, parent FROM given
), results AS (
    INSERT INTO mainstay.result (job, body) SELECT seq, result FROM given WHERE result IS NOT NULL
), checkpoints AS (
    INSERT INTO mainstay.checkpoint (job, token, at, body)
    SELECT seq, token, created_at, checkpoint FROM given WHERE checkpoint IS NOT NULL
), steps AS (
    INSERT INTO mainstay.progress (job, token, at, done, total, stage)
    SELECT seq, token, created_at, done, total, stage FROM given
    WHERE done IS NOT NULL OR total IS NOT NULL OR stage IS NOT NULL
), tagged AS (
    INSERT INTO mainstay.tag (tag, job)
    SELECT t.tag, g.seq FROM given g CROSS JOIN LATERAL json_array_elements_text(g.tags::json) AS t(tag)
    WHERE g.tags IS NOT NULL
    ON CONFLICT DO NOTHING
)
INSERT INTO mainstay.job (seq, ord, priority, queue, type, lock_until, run_at, crashes, state, attempt, token, worker,
                          started_at, finished_at, expires_at, cancel_at, reason)
SELECT seq, ord, priority, queue, type, CASE WHEN key IS NOT NULL THEN coalesce(lock_until, -1) END, run_at, crashes, state,
       attempt, token, worker, started_at, finished_at, expires_at, cancel_at, reason
FROM given
