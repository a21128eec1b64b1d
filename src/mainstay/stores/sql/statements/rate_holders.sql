-- Holders of rates behind a place, with the time for which they wait: NULL for those that are queued. Served by the primary keys.
SELECT h.slot, h.job, (SELECT j.run_at FROM mainstay.job j WHERE j.seq = ANY (ARRAY[h.job])),
       (SELECT j.rules FROM mainstay.job j WHERE j.seq = ANY (ARRAY[h.job]))
FROM mainstay.hold h WHERE (h.slot, h.job) > (:slot::text, :job::bigint) AND h.slot LIKE :rates::text
ORDER BY h.slot, h.job LIMIT :limit::bigint
