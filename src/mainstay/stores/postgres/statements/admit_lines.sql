-- Queues the first jobs in line at slots that were given back, all that parts/free_lines.sql decides about. Returns how many lines are left to `examine`.
WITH l AS MATERIALIZED (
    SELECT NULL::bigint AS place, NULL::text AS queue, NULL::text AS type WHERE false
), {freed_lines}, front AS MATERIALIZED (
    SELECT u.slot, CASE WHEN min(u.running) = max(u.running) THEN min(u.running) END AS running, row_number() OVER () AS n
    FROM gone CROSS JOIN LATERAL unnest(gone.slots, gone.running) AS u(slot, running) GROUP BY u.slot
), {in_line}, next AS MATERIALIZED (
    SELECT NULL::text AS slot, NULL::bigint AS seq WHERE false
), {other_lines}
SELECT count(*) FROM rest
