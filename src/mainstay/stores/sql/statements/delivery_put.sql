-- Records a delivery; of one that is there, its texts are replaced.
INSERT INTO mainstay.delivery (endpoint, at, job, token, attempt, status, ms, error, answer)
VALUES (:endpoint::text, {now}, :job::text, :token::bigint, :attempt::bigint, :status::bigint, :ms::bigint, :error::text, :answer::text)
ON CONFLICT (job, token) DO UPDATE SET error = excluded.error, answer = excluded.answer
