-- Frees a key that was taken for ever, and returns the job that had it.
DELETE FROM mainstay.key WHERE key = :key::text AND type = :type::text RETURNING job
