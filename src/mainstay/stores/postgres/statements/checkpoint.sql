-- What a job last saved.
SELECT body FROM mainstay.checkpoint WHERE job = (SELECT job FROM mainstay.body WHERE id = $1::text)
