-- The jobs that ended last since an instant, behind a place in that order. Served by the index job_finished.
SELECT x.finished_at, x.seq, i.id FROM (
    SELECT j.finished_at, j.seq FROM mainstay.job j
    WHERE j.finished_at IS NOT NULL AND j.finished_at >= :since::bigint AND j.finished_at <= :at::bigint
      AND (j.finished_at < :at::bigint OR j.seq < :seq::bigint)
    ORDER BY j.finished_at DESC, j.seq DESC LIMIT :limit::bigint
) AS x {join} {ids} i ON i.{number} = ANY (ARRAY[x.seq])
