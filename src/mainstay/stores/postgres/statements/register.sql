-- Registers a worker, whose lease of $9 ms begins by the clock that judges it.
WITH clock AS MATERIALIZED (SELECT coalesce($7::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now)
INSERT INTO mainstay.worker (id, host, pid, slots, queues, types, started_at, beat_at, expires_at)
SELECT $1::text, $2::text, $3::bigint, $4::bigint, $5::text, $6::text, now, coalesce($8::bigint, now), now + $9::bigint
FROM clock
ON CONFLICT (id) DO UPDATE
SET host = excluded.host, pid = excluded.pid, slots = excluded.slots, queues = excluded.queues, types = excluded.types,
    started_at = excluded.started_at, beat_at = excluded.beat_at, expires_at = excluded.expires_at, stopping = false
