-- Lines of the audit trail, in their order.
INSERT INTO mainstay.action (at, actor, action, job, detail)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
