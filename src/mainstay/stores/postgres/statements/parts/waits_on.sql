-- Whether so many parents of the job `a.child` have not ended that the end of one changes nothing; those that end in this statement are not
-- counted. From the last one on: jobs that came later end later. While few are left, the child is marked: of two that end
-- in the same moment, neither sees the other.
(SELECT count(*) FROM (
    SELECT 1 FROM mainstay.after o CROSS JOIN LATERAL (
        SELECT 1 FROM mainstay.job p WHERE p.seq = ANY (ARRAY[o.parent]) AND p.finished_at IS NULL AND p.seq <> ALL (:seq::bigint[]) OFFSET 0
    ) p WHERE o.child = a.child ORDER BY o.parent DESC LIMIT 20
) AS unfinished) = 20
