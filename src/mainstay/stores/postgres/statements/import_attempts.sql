-- Attempts at moved jobs.
INSERT INTO mainstay.attempt (job, token, number, worker, started_at, ended_at, outcome, error, traceback)
SELECT b.job, u.token, u.number, u.worker, u.started_at, u.ended_at, u.outcome, u.error, u.traceback
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
            $9::text[]) AS u(id, token, number, worker, started_at, ended_at, outcome, error, traceback)
JOIN mainstay.body b ON b.id = ANY (ARRAY[u.id])
