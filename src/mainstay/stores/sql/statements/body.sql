-- What a job returned, or its last checkpoint.
SELECT body FROM mainstay.{table} WHERE job = {seq_of_id}
