-- The lanes `l` that a claim may take: not those that are paused, or at rest by a breaker; a claim with rules has left these out already.
(SELECT * FROM unnest(:places::bigint[], :queues::text[], :types::text[], :priorities::bigint[], :ords::bigint[], :seqs::bigint[])
    AS l(place, queue, type, priority, ord, seq) WHERE {open_lane}) AS l
