-- Takes a key again, unless another job has it.
UPDATE mainstay.body SET lock = $2::text
WHERE job = $1::bigint AND NOT EXISTS (SELECT 1 FROM mainstay.body other WHERE other.lock = $2::text AND other.job <> $1::bigint)
