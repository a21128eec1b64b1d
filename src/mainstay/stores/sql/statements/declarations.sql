-- What live workers take that go on claiming, alike ones counted; or what one live worker takes. Few rows: as many as workers have types.
SELECT d.type, d.version, d.signature, d.takes, count(*)
FROM mainstay.worker w CROSS JOIN mainstay.declaration d
WHERE d.worker = ANY (ARRAY[w.id]) AND w.expires_at > {now} AND d.type = coalesce(:type::text, d.type)
  AND CASE WHEN :worker::text IS NULL THEN NOT w.stopping ELSE w.id = :worker::text END
GROUP BY d.type, d.version, d.signature, d.takes
ORDER BY d.type, d.version, d.signature, d.takes
