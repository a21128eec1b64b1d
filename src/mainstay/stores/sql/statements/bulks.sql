-- The bulk actions that changed a job.
SELECT x.bulks FROM mainstay.acted x WHERE x.job = {seq_of_id}
