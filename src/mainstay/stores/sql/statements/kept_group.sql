-- The newest ended job of the last type and state before :type and :state of which only so many are kept. Served by the index
-- job_kept.
SELECT j.type, j.state, j.keep_last, j.keep_dead FROM mainstay.job j
WHERE j.keep_last IS NOT NULL AND j.finished_at IS NOT NULL AND (j.type, j.state) < (:type::text, :state::text)
ORDER BY j.type DESC, j.state DESC, j.finished_at DESC, j.seq DESC LIMIT 1
