-- The last checkpoint of a job.
SELECT body FROM mainstay.checkpoint WHERE job = {seq_of_id}
