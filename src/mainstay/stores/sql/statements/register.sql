-- Registers a worker. Its lease begins now, by the clock that decides when it has expired.
INSERT INTO mainstay.worker (id, host, pid, slots, queues, types, started_at, beat_at, expires_at, stopping)
VALUES (:id::text, :host::text, :pid::bigint, :slots::bigint, :queues::text, :types::text, {now},
        coalesce(:beat::bigint, {now}), {now} + :lease::bigint, false)
ON CONFLICT (id) DO UPDATE
SET host = excluded.host, pid = excluded.pid, slots = excluded.slots, queues = excluded.queues, types = excluded.types,
    started_at = excluded.started_at, beat_at = excluded.beat_at, expires_at = excluded.expires_at, stopping = false, wanted = NULL
