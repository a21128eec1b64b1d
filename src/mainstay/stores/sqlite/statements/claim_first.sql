-- The places of the first ?1 jobs of some lanes of the queue ?2, joined by commas. Each arm walks one lane along mainstay_job_lane; the
-- arms are merged, so no more than one job of each lane is read in vain.
SELECT group_concat(-priority || ' ' || ord || ' ' || seq) FROM {jobs}
