-- A waiting job becomes what a newer draft with the same key asks for, with fresh attempts; the token stays: it only grows.
-- Guarded: a job that started meanwhile is left alone, and then nothing is answered.
WITH chosen AS MATERIALIZED (
    SELECT j.seq FROM mainstay.job j WHERE j.seq = $1::bigint AND j.state IN ('queued', 'scheduled') FOR NO KEY UPDATE
), before AS MATERIALIZED (
    SELECT b.job, b.tags FROM mainstay.body b JOIN chosen c ON b.job = ANY (ARRAY[c.seq]) WHERE b.lock = $9::text
), changed AS (
    UPDATE mainstay.job j
    SET queue = $2::text, state = $3::text, priority = $4::bigint, ord = $5::bigint, run_at = $6::bigint,
        lock_until = coalesce($7::bigint, -1), attempt = 0, crashes = 0, reason = NULL
    FROM before WHERE j.seq = ANY (ARRAY[before.job])
    RETURNING j.seq
), asked AS (
    UPDATE mainstay.body b
    SET max_attempts = $8::bigint, timeout = $10::bigint, keep = $11::bigint, backoff = $12::text, payload = $13::text,
        tenant = $14::text, ref = $15::text, tags = $16::text
    FROM before WHERE b.job = ANY (ARRAY[before.job])
), untagged AS (
    DELETE FROM mainstay.tag t
    USING before CROSS JOIN LATERAL json_array_elements_text(before.tags::json) AS old(tag)
    WHERE t.tag = ANY (ARRAY[old.tag]) AND t.job = ANY (ARRAY[before.job])
      AND NOT EXISTS (SELECT 1 FROM json_array_elements_text($16::json) AS new(tag) WHERE new.tag = old.tag)
), tagged AS (
    INSERT INTO mainstay.tag (tag, job)
    SELECT new.tag, before.job FROM before CROSS JOIN LATERAL json_array_elements_text($16::json) AS new(tag)
    ON CONFLICT DO NOTHING
)
SELECT seq FROM changed
