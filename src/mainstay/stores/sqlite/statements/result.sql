-- What a job returned.
SELECT body FROM mainstay_result WHERE job = (SELECT seq FROM mainstay_job WHERE id = :id)
