-- Lines of the audit trail, in the order given.
INSERT INTO mainstay.action (at, actor, action, job, detail)
SELECT $1::bigint, $2::text, $3::text, u.job, u.detail
FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS u(job, detail, n) ORDER BY u.n
