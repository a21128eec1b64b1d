-- The state and token of a job whose transition was refused.
SELECT state, token, cancel_at, worker FROM mainstay_job WHERE seq = :seq
