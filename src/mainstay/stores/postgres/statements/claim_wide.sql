-- As claim, for workers with many lanes: those in which jobs wait are found first, one seek of job_lane each. `head` is the first
-- job of a queue's first lane; from there `lane` goes from type to type and reads the first job of each. The next queue is read
-- only if more jobs are wanted. The first :limit jobs of a queue are in the :limit lanes whose first jobs come first. If others have
-- locked too many of these, those lanes are read on, and then all other lanes.
WITH next AS MATERIALIZED (
    SELECT locked.ctid
    FROM unnest(:queues::text[], :firsts::bigint[], :lasts::bigint[]) AS u(queue, first, last)
    CROSS JOIN LATERAL (
        {lane_heads} ORDER BY j.type, j.priority DESC, j.ord, j.seq LIMIT 1
    ) head
    CROSS JOIN LATERAL (
        WITH RECURSIVE lane AS (
            SELECT head.*
            UNION ALL
            SELECT following.* FROM lane CROSS JOIN LATERAL (
                {lane_heads} AND j.type > lane.type ORDER BY j.type, j.priority DESC, j.ord, j.seq LIMIT 1
            ) following
        ), l AS MATERIALIZED (
            SELECT l.queue, l.type FROM (SELECT u.queue, lane.* FROM lane) AS l
            WHERE l.type = ANY (CASE WHEN u.first IS NULL THEN :types::text[] ELSE (:types::text[])[u.first : u.last] END)
              AND {open_lane}
            ORDER BY l.priority DESC, l.ord, l.seq
        )
        SELECT first.ctid FROM (
            SELECT r.ctid FROM (SELECT * FROM l LIMIT :limit::bigint) l CROSS JOIN LATERAL (
                {lane} ORDER BY j.priority DESC, j.ord, j.seq LIMIT :limit::bigint
            ) r ORDER BY r.priority DESC, r.ord, r.seq
        ) first
        UNION ALL
        SELECT r.ctid FROM (SELECT * FROM l LIMIT :limit::bigint) l CROSS JOIN LATERAL (
            {lane} ORDER BY j.priority DESC, j.ord, j.seq OFFSET :limit::bigint
        ) r
        UNION ALL
        SELECT r.ctid FROM (SELECT * FROM l OFFSET :limit::bigint) l CROSS JOIN LATERAL (
            {lane} ORDER BY j.priority DESC, j.ord, j.seq
        ) r
    ) c
    {lock_each}
), {end_{table}}
