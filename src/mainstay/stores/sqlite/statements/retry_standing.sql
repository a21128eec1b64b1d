-- What a retry needs to know: the state, and the key to be taken again.
SELECT j.type, j.state, j.lock, j.lock_until, b.key
FROM mainstay_job j JOIN mainstay_body b ON b.job = j.seq WHERE j.id = :id
