-- What live workers take, alike ones counted. Few rows: as many as workers have types.
SELECT d.type, d.version, d.signature, d.takes, count(*)
FROM mainstay.worker w CROSS JOIN mainstay.declaration d
WHERE d.worker = ANY (ARRAY[w.id]) AND w.expires_at > {now} AND NOT w.stopping AND d.type = coalesce(:type::text, d.type)
GROUP BY d.type, d.version, d.signature, d.takes
ORDER BY d.type, d.version, d.signature, d.takes
