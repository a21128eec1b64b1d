-- What a job returned.
SELECT body FROM mainstay.result WHERE job = {seq_of_id}
