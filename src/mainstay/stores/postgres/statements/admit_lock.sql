-- Takes the lock of the installation under which jobs are examined, until the end of the transaction; then the instant. A process that is
-- paused between two trips would hold it for as long: the server ends such a transaction before others give up waiting.
SELECT {now} FROM (
    SELECT set_config('idle_in_transaction_session_timeout', '2s', true), set_config('mainstay_lock.taken', 'true', true), pg_advisory_xact_lock({admission_lock}) OFFSET 0
) AS locked
