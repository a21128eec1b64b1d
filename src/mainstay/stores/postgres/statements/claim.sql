-- Claims the first :limit jobs of a few lanes (queue × type), the queues in the order of their places. The first :limit jobs of
-- each lane are read and sorted, then locked one after the other until there are enough: no more rows are locked than claimed.
-- If other claimers have locked too many of these, the lanes are read on, one after the other. Each lane is read from its
-- cursor on (lanes.py): by job_lane, all priorities above the cursor's, that priority from its place on, all below.
-- `next` is materialised: a plan that read the lanes twice would claim more than was asked.
WITH next AS MATERIALIZED (
    SELECT locked.ctid
    FROM (
        SELECT first.ctid FROM (
            SELECT r.ctid FROM {lanes} CROSS JOIN LATERAL ({lane_rows} LIMIT :limit::bigint) r
            ORDER BY l.place, r.priority DESC, r.ord, r.seq
        ) first
        UNION ALL
        SELECT r.ctid FROM {lanes} CROSS JOIN LATERAL ({lane_rows} OFFSET :limit::bigint) r
    ) c
    {lock_each}
), {end_{table}}
