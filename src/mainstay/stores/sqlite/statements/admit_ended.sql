-- Marks the jobs that wait for parents which have ended now: where one did not complete, or none is left unfinished. Looks for an unfinished
-- one from the last on: jobs that came later end later. Served by the primary keys and mainstay_after_child.
UPDATE mainstay_job SET waits = '' WHERE waits = '|parents' AND seq IN (
    SELECT a.child FROM json_each(:seqs) s CROSS JOIN mainstay_after a CROSS JOIN mainstay_job p
    WHERE a.parent = s.value AND p.seq = a.parent AND (p.state <> 'completed' OR NOT EXISTS (
        SELECT 1 FROM mainstay_after o CROSS JOIN mainstay_job q WHERE o.child = a.child AND q.seq = o.parent AND q.finished_at IS NULL
        ORDER BY o.parent DESC LIMIT 1
    ))
)
