-- Makes a waiting job what a newer draft with the same key asks for, with fresh attempts; the token stays: it only grows.
-- What an attempt at the old work has left is deleted: the new work must not start where the old one stopped.
-- Guarded: a job that started meanwhile is left as it is, and no row is returned.
WITH chosen AS MATERIALIZED (
    SELECT j.seq FROM mainstay.job j WHERE j.seq = :seq::bigint AND j.state IN ('queued', 'scheduled', 'blocked') FOR NO KEY UPDATE
), before AS MATERIALIZED (
    SELECT b.job, b.tags FROM mainstay.body b JOIN chosen c ON b.job = ANY (ARRAY[c.seq]) WHERE b.lock = :lock::text
), changed AS (
    UPDATE mainstay.job j
    SET state = {admit.state | :run_at::bigint | :now::bigint | :waits::text},
        waits = {admit.waits | :run_at::bigint | :now::bigint | :waits::text | :waits::text},
        ord = {admit.ord | :run_at::bigint | :now::bigint | :now::bigint},
        {replaced_job}, attempt = 0, crashes = 0, reason = NULL
    FROM before WHERE j.seq = ANY (ARRAY[before.job])
    RETURNING j.seq
), asked AS (
    UPDATE mainstay.body b SET {replaced_body} FROM before WHERE b.job = ANY (ARRAY[before.job])
), uncheckpointed AS (
    DELETE FROM mainstay.checkpoint c USING before WHERE c.job = ANY (ARRAY[before.job])
), unprogressed AS (
    DELETE FROM mainstay.progress p USING before WHERE p.job = ANY (ARRAY[before.job])
), unproposed AS (
    DELETE FROM mainstay.result r USING before WHERE r.job = ANY (ARRAY[before.job])
), untagged AS (
    DELETE FROM mainstay.tag t
    USING before CROSS JOIN LATERAL json_array_elements_text(before.tags::json) AS old(tag)
    WHERE t.tag = ANY (ARRAY[old.tag]) AND t.job = ANY (ARRAY[before.job])
      AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(:tags::text::json) AS new(tag) WHERE new.tag = old.tag)
), tagged AS (
    INSERT INTO mainstay.tag (tag, job)
    SELECT new.tag, before.job FROM before CROSS JOIN LATERAL json_array_elements_text(:tags::text::json) AS new(tag)
    ON CONFLICT DO NOTHING
)
SELECT seq FROM changed
