-- What a job last saved.
SELECT body FROM mainstay_checkpoint WHERE job = (SELECT seq FROM mainstay_job WHERE id = :id)
