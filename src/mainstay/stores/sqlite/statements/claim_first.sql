-- The numbers of the first ?1 jobs of some lanes of the queue ?2, or their whole places, joined by commas. Each arm walks one
-- lane along mainstay_job_lane; the arms are merged, so no more than one job of each lane is read in vain.
SELECT {columns} FROM ({arms} ORDER BY 1 DESC, 2, 3 LIMIT ?1)
