unnest(:places::bigint[], :queues::text[], :types::text[], :priorities::bigint[], :ords::bigint[], :seqs::bigint[])
    AS l(place, queue, type, priority, ord, seq)
