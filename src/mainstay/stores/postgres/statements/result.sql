-- What a job returned.
SELECT body FROM mainstay.result WHERE job = (SELECT job FROM mainstay.body WHERE id = $1::text)
